package profile

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxBytes is the largest size of a profile file.
const MaxBytes = 1 << 20

//go:embed data/*.json
var embedded embed.FS

// Decode decodes a profile from JSON and validates it. It returns an error for a format other than Format, unknown fields, text
// after the profile and files above MaxBytes.
func Decode(data []byte) (*Profile, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("profile of %d bytes: want at most %d", len(data), MaxBytes)
	}
	var head struct {
		Format int `json:"format"`
	}
	// Report a newer format first, because other errors may be due to it. Syntax errors are reported below.
	if err := json.Unmarshal(data, &head); err == nil {
		if err := checkFormat(head.Format); err != nil {
			return nil, fmt.Errorf("profile: %w", err)
		}
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var p Profile
	if err := d.Decode(&p); err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("profile: text after it: want one profile")
	}
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("profile %q: %w", p.Name, err)
	}
	return &p, nil
}

// Encode encodes a profile for Decode, indented. It returns an error for an invalid profile.
func (p *Profile) Encode() ([]byte, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("profile %q: %w", p.Name, err)
	}
	b, err := json.MarshalIndent(p, "", "\t")
	if err != nil {
		return nil, fmt.Errorf("profile %q: %w", p.Name, err)
	}
	return append(b, '\n'), nil
}

// Names returns the names of the embedded profiles.
func Names() []string { return []string{"connectx-5", "connectx-6", "connectx-7"} }

// Lookup returns an embedded profile; the error lists the known names.
func Lookup(name string) (*Profile, error) {
	for _, n := range Names() {
		if n == name {
			data, err := embedded.ReadFile("data/" + n + ".json")
			if err != nil {
				return nil, fmt.Errorf("profile %q: %w", name, err)
			}
			return Decode(data)
		}
	}
	return nil, Unknown(name)
}
