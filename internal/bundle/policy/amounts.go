package policy

import (
	"maps"
	"regexp"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A quantity like 1e999999999 is one that no program can read in reasonable time: Kubernetes calculates
// with every digit, and the API server's request times out after half a minute.

// powerOfTen is a number with an exponent of four digits or more. The largest quantity is below 1e19;
// what is less than this is read fast, and the API server says what it thinks of it.
var powerOfTen = regexp.MustCompile(`^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?0*[1-9][0-9]{3,}$`)

// holders are the maps whose values are quantities, and fields the fields that are one.
var (
	holders = []string{"requests", "limits", "hard", "used", "capacity", "allocatable", "allocated", "default", "defaultRequest", "min", "max", "maxLimitRequestRatio", "podFixed", "overhead"}
	fields  = []string{"sizeLimit", "divisor", "averageValue", "targetAverageValue", "targetValue", "storage", "quantity", "maximumVolumeSize"}
)

// unreadable returns the path and the text of the first quantity of an object that cannot be read;
// nil if all can.
func unreadable(o *unstructured.Unstructured) (path []string, text string) {
	if o.GetKind() == "CustomResourceDefinition" {
		return nil, "" // whose schema says what its resources may have
	}
	for _, key := range slices.Sorted(maps.Keys(o.Object)) {
		if key == "metadata" || key == "data" || key == "stringData" {
			continue
		}
		if path, text = find(o.Object[key], []string{key}, o.GetKind() == "HorizontalPodAutoscaler"); path != nil {
			return path, text
		}
	}
	return nil, ""
}

// find looks below a path. scales: the field value is a quantity, too.
func find(v any, path []string, scales bool) ([]string, string) {
	switch x := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(x)) {
			if found, text := find(x[key], append(slices.Clone(path), key), scales); found != nil {
				return found, text
			}
		}
	case []any:
		for i := range x {
			if found, text := find(x[i], append(slices.Clone(path), strconv.Itoa(i)), scales); found != nil {
				return found, text
			}
		}
	case string:
		last := path[len(path)-1]
		above := ""
		if len(path) > 1 {
			above = path[len(path)-2]
		}
		if powerOfTen.MatchString(x) && (slices.Contains(holders, above) || slices.Contains(fields, last) || scales && last == "value") {
			return path, x
		}
	}
	return nil, ""
}
