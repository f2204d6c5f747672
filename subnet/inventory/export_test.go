package inventory

import (
	"reflect"

	"fairlane/internal/yamltree"
)

// Keys returns the keys of a mapping.
func Keys(of string) []string {
	switch of {
	case "tls":
		return yamltree.Keys(reflect.TypeFor[tlsForm]())
	case "device":
		return yamltree.Keys(reflect.TypeFor[deviceForm]())
	}
	return yamltree.Keys(reflect.TypeFor[fileForm]())
}
