package scenario

import (
	"embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"fairlane/internal/phrase"
	"fairlane/internal/suggest"
)

//go:embed builtin/*.yaml
var builtin embed.FS

// Builtin describes one built-in scenario.
type Builtin struct {
	Name        string `json:"name"`
	Plane       string `json:"plane"`
	Description string `json:"description"`
}

// Builtins returns the built-in scenarios, by name.
func Builtins() ([]Builtin, error) {
	files, err := builtin.ReadDir("builtin")
	if err != nil {
		return nil, fmt.Errorf("list built-in scenarios: %w", err)
	}
	var out []Builtin
	for _, f := range files {
		s, err := LoadBuiltin(strings.TrimSuffix(f.Name(), ".yaml"))
		if err != nil {
			return nil, err
		}
		out = append(out, Builtin{s.Name, s.Plane(), s.Description})
	}
	return out, nil
}

// BuiltinText returns the file of a built-in scenario, as a starting point for new scenarios.
func BuiltinText(name string) ([]byte, error) {
	data, err := builtin.ReadFile("builtin/" + name + ".yaml")
	if err != nil {
		return nil, fault(unknown(name))
	}
	return data, nil
}

// LoadBuiltin reads the built-in scenario with the given name.
func LoadBuiltin(name string) (*Scenario, error) {
	data, err := BuiltinText(name)
	if err != nil {
		return nil, err
	}
	return Parse(name+".yaml", data, nil)
}

func builtinNames() []string {
	files, _ := builtin.ReadDir("builtin") // the directory is embedded
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	return names
}

// File is the text of a scenario, read once, from which scenarios with different settings are made.
type File struct {
	name string
	data []byte
	open Opener
}

// Open reads the text of a scenario: a built-in one by its name, otherwise a file. Paths in it are relative to its directory.
func Open(pathOrName string) (*File, error) {
	if !strings.ContainsAny(pathOrName, `/\.`) {
		data, err := BuiltinText(pathOrName)
		if err != nil {
			return nil, err
		}
		return &File{name: pathOrName + ".yaml", data: data}, nil
	}
	f, err := os.Open(pathOrName)
	if err != nil {
		return nil, phrase.Because(err, phrase.Of("scenario.open", "reason", err))
	}
	defer func() { _ = f.Close() }() // the file is only read
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, phrase.Because(err, phrase.Of("scenario.read", "reason", err))
	}
	return &File{name: pathOrName, data: data, open: func(path string) (io.ReadCloser, error) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(pathOrName), path)
		}
		return os.Open(path)
	}}, nil
}

// Scenario reads the scenario with settings that replace values of the file.
func (f *File) Scenario(settings ...Setting) (*Scenario, error) {
	return ParseWith(f.name, f.data, f.open, settings...)
}

// Load reads a scenario: a built-in one by its name, otherwise a file. The path of a fabric file is relative to the scenario's
// directory.
func Load(pathOrName string) (*Scenario, error) {
	f, err := Open(pathOrName)
	if err != nil {
		return nil, err
	}
	return f.Scenario()
}

// unknown returns the error text for a name that no built-in scenario has, with similar names.
func unknown(name string) phrase.Text {
	return phrase.Meant(phrase.Of("scenario.unknown", "scenario", strconv.Quote(name), "names", builtinNames()), suggest.Quoted(name, builtinNames()))
}
