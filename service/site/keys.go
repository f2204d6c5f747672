package site

import (
	"strconv"
	"strings"

	"fairlane/internal/usage"
	"fairlane/service/config"
	"fairlane/subnet/mad"
)

// CCKey reads a CC_Key from a file; an empty path means no key.
func CCKey(path string) (mad.Key, error) { return hexKey(path, "a CC_Key") }

// MKey reads an M_Key from a file; an empty path means no key.
func MKey(path string) (mad.Key, error) { return hexKey(path, "an M_Key") }

// hexKey reads a key from a file; an empty path means no key.
func hexKey(path, what string) (mad.Key, error) {
	text, err := config.Secret(path)
	if err != nil || text == "" {
		return 0, err
	}
	v, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(text), "0x"), 16, 64)
	if err != nil {
		return 0, usage.Errorf("%s: want %s of 1 to 16 hexadecimal digits", path, what) // never with the content
	}
	return mad.Key(v), nil
}
