package main

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A tag `is` has a type of fields.yaml, where the original limits the value.

// podSettings are the fields that Prometheus and Alertmanager share: nearly the pod API.
type podSettings struct {
	PodMetadata               objectMeta                        `json:"podMetadata"`
	Replicas                  int32                             `json:"replicas"`
	Image                     string                            `json:"image"`
	Version                   string                            `json:"version"`
	Paused                    bool                              `json:"paused"`
	LogLevel                  string                            `json:"logLevel" is:"|debug|info|warn|error"`
	LogFormat                 string                            `json:"logFormat" is:"|logfmt|json"`
	ExternalURL               string                            `json:"externalUrl"`
	RoutePrefix               string                            `json:"routePrefix"`
	PortName                  string                            `json:"portName"`
	ServiceAccountName        string                            `json:"serviceAccountName"`
	PriorityClassName         string                            `json:"priorityClassName"`
	ListenLocal               bool                              `json:"listenLocal"`
	MinReadySeconds           int32                             `json:"minReadySeconds"`
	ImagePullPolicy           string                            `json:"imagePullPolicy" is:"|Always|Never|IfNotPresent"`
	ImagePullSecrets          []corev1.LocalObjectReference     `json:"imagePullSecrets"`
	Secrets                   []string                          `json:"secrets"`
	ConfigMaps                []string                          `json:"configMaps"`
	NodeSelector              map[string]string                 `json:"nodeSelector"`
	Tolerations               []corev1.Toleration               `json:"tolerations"`
	Affinity                  corev1.Affinity                   `json:"affinity"`
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints"`
	Resources                 corev1.ResourceRequirements       `json:"resources"`
	SecurityContext           corev1.PodSecurityContext         `json:"securityContext"`
	DNSConfig                 corev1.PodDNSConfig               `json:"dnsConfig"`
	HostAliases               []corev1.HostAlias                `json:"hostAliases"`
	Containers                []corev1.Container                `json:"containers"`
	InitContainers            []corev1.Container                `json:"initContainers"`
	Volumes                   []corev1.Volume                   `json:"volumes"`
	VolumeMounts              []corev1.VolumeMount              `json:"volumeMounts"`
	Storage                   storage                           `json:"storage"`
	Web                       web                               `json:"web"`
}

type prometheusSpec struct {
	podSettings
	Retention                string                `json:"retention" is:"duration"`
	Shards                   int32                 `json:"shards"`
	ScrapeInterval           string                `json:"scrapeInterval" is:"duration"`
	ScrapeTimeout            string                `json:"scrapeTimeout" is:"duration"`
	EvaluationInterval       string                `json:"evaluationInterval" is:"duration"`
	RetentionSize            string                `json:"retentionSize" is:"size"`
	WALCompression           bool                  `json:"walCompression"`
	EnableAdminAPI           bool                  `json:"enableAdminAPI"`
	ExternalLabels           map[string]string     `json:"externalLabels"`
	RuleSelector             *metav1.LabelSelector `json:"ruleSelector"`
	RuleNamespaceSelector    *metav1.LabelSelector `json:"ruleNamespaceSelector"`
	ServiceMonitorSelector   *metav1.LabelSelector `json:"serviceMonitorSelector"`
	ServiceMonitorNamespaces *metav1.LabelSelector `json:"serviceMonitorNamespaceSelector"`
	PodMonitorSelector       *metav1.LabelSelector `json:"podMonitorSelector"`
	PodMonitorNamespaces     *metav1.LabelSelector `json:"podMonitorNamespaceSelector"`
	Alerting                 alerting              `json:"alerting"`
	RemoteWrite              []remote              `json:"remoteWrite"`
	RemoteRead               []remote              `json:"remoteRead"`
	Thanos                   thanos                `json:"thanos"`
	// The sidecars and volumes of the Thanos integration, which the real schema spreads over many
	// fields.
	ThanosContainers []corev1.Container `json:"thanosContainers"`
}

type alertmanagerSpec struct {
	podSettings
	Retention                    string                `json:"retention" is:"hours"`
	AlertmanagerConfigSelector   *metav1.LabelSelector `json:"alertmanagerConfigSelector"`
	AlertmanagerConfigNamespaces *metav1.LabelSelector `json:"alertmanagerConfigNamespaceSelector"`
	ConfigSecret                 string                `json:"configSecret"`
	ClusterAdvertiseAddress      string                `json:"clusterAdvertiseAddress"`
	ForceEnableClusterMode       bool                  `json:"forceEnableClusterMode"`
}

type status struct {
	Paused              bool          `json:"paused"`
	Replicas            int32         `json:"replicas"`
	UpdatedReplicas     int32         `json:"updatedReplicas"`
	AvailableReplicas   int32         `json:"availableReplicas"`
	UnavailableReplicas int32         `json:"unavailableReplicas"`
	Selector            string        `json:"selector"`
	Conditions          []condition   `json:"conditions"`
	Shards              int32         `json:"shards,omitempty"`
	ShardStatuses       []shardStatus `json:"shardStatuses,omitempty"`
}

type shardStatus struct {
	ShardID             string `json:"shardID"`
	Replicas            int32  `json:"replicas"`
	UpdatedReplicas     int32  `json:"updatedReplicas"`
	AvailableReplicas   int32  `json:"availableReplicas"`
	UnavailableReplicas int32  `json:"unavailableReplicas"`
}

type condition struct {
	Type               string      `json:"type"`
	Status             string      `json:"status"`
	Reason             string      `json:"reason"`
	Message            string      `json:"message"`
	ObservedGeneration int64       `json:"observedGeneration"`
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
}

type objectMeta struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

type storage struct {
	DisableMountSubPath bool                         `json:"disableMountSubPath"`
	EmptyDir            *corev1.EmptyDirVolumeSource `json:"emptyDir"`
	Ephemeral           *ephemeral                   `json:"ephemeral"`
	VolumeClaimTemplate claim                        `json:"volumeClaimTemplate"`
}

type ephemeral struct {
	VolumeClaimTemplate claim `json:"volumeClaimTemplate"`
}

type claim struct {
	APIVersion string                           `json:"apiVersion"`
	Kind       string                           `json:"kind"`
	Metadata   objectMeta                       `json:"metadata"`
	Spec       corev1.PersistentVolumeClaimSpec `json:"spec"`
}

type web struct {
	PageTitle      string    `json:"pageTitle"`
	MaxConnections int32     `json:"maxConnections"`
	TLSConfig      tlsConfig `json:"tlsConfig"`
}

type alerting struct {
	Alertmanagers []endpoints `json:"alertmanagers"`
}

type endpoints struct {
	client
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	Port       string `json:"port"`
	Scheme     string `json:"scheme"`
	PathPrefix string `json:"pathPrefix"`
	APIVersion string `json:"apiVersion"`
	Timeout    string `json:"timeout" is:"duration"`
}

type remote struct {
	client
	URL           string            `json:"url" is:"url"`
	Name          string            `json:"name"`
	RemoteTimeout string            `json:"remoteTimeout" is:"duration"`
	Headers       map[string]string `json:"headers"`
}

type thanos struct {
	Image               string                      `json:"image"`
	Version             string                      `json:"version"`
	Resources           corev1.ResourceRequirements `json:"resources"`
	ObjectStorageConfig corev1.SecretKeySelector    `json:"objectStorageConfig"`
	VolumeMounts        []corev1.VolumeMount        `json:"volumeMounts"`
}

type client struct {
	BasicAuth     basicAuth     `json:"basicAuth"`
	Authorization authorization `json:"authorization"`
	TLSConfig     tlsConfig     `json:"tlsConfig"`
	ProxyURL      string        `json:"proxyUrl" is:"proxy-url"`
}

type basicAuth struct {
	Username corev1.SecretKeySelector `json:"username"`
	Password corev1.SecretKeySelector `json:"password"`
}

type authorization struct {
	Type        string                   `json:"type"`
	Credentials corev1.SecretKeySelector `json:"credentials"`
}

type tlsConfig struct {
	CA                 secretOrConfigMap        `json:"ca"`
	Cert               secretOrConfigMap        `json:"cert"`
	KeySecret          corev1.SecretKeySelector `json:"keySecret"`
	ServerName         string                   `json:"serverName"`
	InsecureSkipVerify bool                     `json:"insecureSkipVerify"`
}

type secretOrConfigMap struct {
	Secret    corev1.SecretKeySelector    `json:"secret"`
	ConfigMap corev1.ConfigMapKeySelector `json:"configMap"`
}
