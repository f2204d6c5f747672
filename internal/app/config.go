package app

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Config is the configuration of `fairlane serve`. Later ones win: defaults, the file, the
// environment (FAIRLANE_ and the key in capitals), flags.
type Config struct {
	Listen         string // HOST:PORT of the API
	Database       string // path of the SQLite file
	AdminTokenFile string // file with the administrator's token; empty: made once and printed
	CCKeyFile      string // file with the fabric's CC_Key in hexadecimal; empty: 0, no key
}

// maxConfigSize bounds a configuration file, in bytes.
const maxConfigSize = 1 << 20

// configKeys are the keys of the file, in the order of the messages.
var configKeys = [...]string{"listen", "database", "admin_token_file", "cc_key_file"}

func defaultConfig() Config {
	return Config{Listen: "127.0.0.1:8470", Database: "fairlane.db"}
}

// field is the setting of a key of configKeys, or nil.
func (c *Config) field(key string) *string {
	switch key {
	case "listen":
		return &c.Listen
	case "database":
		return &c.Database
	case "admin_token_file":
		return &c.AdminTokenFile
	case "cc_key_file":
		return &c.CCKeyFile
	}
	return nil
}

// readConfig applies a file, when a path is given, and the environment to the defaults. Flags
// come after it, and then validate.
func readConfig(path string, getenv func(string) string) (Config, error) {
	c := defaultConfig()
	if path != "" {
		r, err := os.Open(path)
		if err != nil {
			return c, &UsageError{err}
		}
		defer func() { _ = r.Close() }() // read only
		if err := c.read(path, r); err != nil {
			return c, err
		}
	}
	for _, key := range configKeys {
		if v := getenv("FAIRLANE_" + strings.ToUpper(key)); v != "" {
			*c.field(key) = v
		}
	}
	return c, nil
}

// read applies a file. An unknown key, a key given twice and anything but text as a value are errors
// with the line; an empty file is none.
func (c *Config) read(path string, r io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(r, maxConfigSize+1))
	if err != nil {
		return usagef("read %s: %w", path, err)
	}
	if len(data) > maxConfigSize {
		return usagef("%s: want at most %d bytes", path, maxConfigSize)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return usagef("%s:%s", path, configSyntax(err))
	}
	if doc.IsZero() {
		return nil
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return usagef("%s:%d: want the keys %s", path, root.Line, strings.Join(configKeys[:], ", "))
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		field := c.field(key.Value)
		switch {
		case field == nil:
			return usagef("%s:%d: unknown key %q: want %s", path, key.Line, key.Value, strings.Join(configKeys[:], ", "))
		case seen[key.Value] > 0:
			return usagef("%s:%d: %s was given in line %d already: want it once", path, key.Line, key.Value, seen[key.Value])
		case value.Kind != yaml.ScalarNode:
			return usagef("%s:%d: %s: want text", path, value.Line, key.Value)
		}
		seen[key.Value] = key.Line
		if value.Tag != "!!null" {
			*field = value.Value
		}
	}
	return nil
}

// configSyntax gives the YAML library's "yaml: line N: ..." the form of our messages.
func configSyntax(err error) string {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if line, why, ok := strings.Cut(rest, ": "); ok {
			if n, err := strconv.Atoi(line); err == nil {
				return fmt.Sprintf("%d: %s: want valid YAML", n, why)
			}
		}
	}
	return fmt.Sprintf("1: %s: want valid YAML", text)
}

// validate reports every setting that cannot be used.
func (c *Config) validate() error {
	var errs []error
	if c.Database == "" {
		errs = append(errs, errors.New("database: want the path of the SQLite file"))
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		errs = append(errs, fmt.Errorf("listen %q: want HOST:PORT", c.Listen))
	}
	if errs == nil {
		return nil
	}
	return &UsageError{errors.Join(errs...)}
}
