package publish

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// ociImage is an OCI manifest with a config and one layer of any media type. go-containerregistry's
// own images always have a container's config, and Helm's is not one.
type ociImage struct {
	config, manifest []byte
	layer            v1.Layer
}

var _ partial.CompressedImageCore = (*ociImage)(nil)

func newImage(config []byte, configType string, layer []byte, layerType string, annotations map[string]string) (v1.Image, error) {
	configDigest, configSize, err := v1.SHA256(bytes.NewReader(config))
	if err != nil {
		return nil, err
	}
	l := static.NewLayer(layer, types.MediaType(layerType))
	layerDigest, err := l.Digest()
	if err != nil {
		return nil, err
	}
	manifest, err := json.Marshal(&v1.Manifest{
		SchemaVersion: 2,
		MediaType:     types.OCIManifestSchema1,
		Config:        v1.Descriptor{MediaType: types.MediaType(configType), Size: configSize, Digest: configDigest},
		Layers:        []v1.Descriptor{{MediaType: types.MediaType(layerType), Size: int64(len(layer)), Digest: layerDigest}},
		Annotations:   annotations,
	})
	if err != nil {
		return nil, err
	}
	return partial.CompressedToImage(&ociImage{config: config, manifest: manifest, layer: l})
}

func (i *ociImage) RawConfigFile() ([]byte, error)      { return i.config, nil }
func (i *ociImage) RawManifest() ([]byte, error)        { return i.manifest, nil }
func (i *ociImage) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }
func (i *ociImage) LayerByDigest(h v1.Hash) (partial.CompressedLayer, error) {
	digest, err := i.layer.Digest()
	if err != nil {
		return nil, err
	}
	if h != digest {
		return nil, fmt.Errorf("no layer %s", h)
	}
	return i.layer, nil
}

// uncompressedDigest is what an image's config calls a layer.
func uncompressedDigest(tgz []byte) (v1.Hash, error) {
	zr, err := gzip.NewReader(bytes.NewReader(tgz))
	if err != nil {
		return v1.Hash{}, err
	}
	digest, _, err := v1.SHA256(zr)
	return digest, err
}
