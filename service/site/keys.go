package site

import (
	"strconv"
	"strings"

	"fairlane/internal/phrase"
	"fairlane/internal/usage"
	"fairlane/service/config"
	"fairlane/subnet/mad"
)

// CCKey reads a CC_Key from a file; an empty path means no key.
func CCKey(path string) (mad.Key, error) { return hexKey(path, phrase.Of("file.cc-key")) }

// MKey reads an M_Key from a file; an empty path means no key.
func MKey(path string) (mad.Key, error) { return hexKey(path, phrase.Of("file.m-key")) }

// hexKey reads a key from a file; an empty path means no key.
func hexKey(path string, key phrase.Text) (mad.Key, error) {
	text, err := config.Secret(path)
	if err != nil || text == "" {
		return 0, err
	}
	v, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(text), "0x"), 16, 64)
	if err != nil {
		return 0, usage.Of(phrase.Of("file.want-key", "file", path, "key", key)) // never the content
	}
	return mad.Key(v), nil
}
