package remote

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"fairlane/internal/usage"
)

// maxCredentials is the maximum size of the credentials file, in bytes.
const maxCredentials = 1 << 20

// credential is a token that `login` created for one service. It is sent to no other.
type credential struct {
	User  string `yaml:"user"`
	Name  string `yaml:"name"` // of the token
	Token string `yaml:"token"`
}

// credentialsPath returns the credentials file: FAIRLANE_CREDENTIALS, or one in the user's configuration folder (XDG
// Base Directory Specification 0.8). It is empty if there is no home directory.
func (c *cli) credentialsPath() string {
	if path := c.getenv("FAIRLANE_CREDENTIALS"); path != "" {
		return path
	}
	dir := c.getenv("XDG_CONFIG_HOME")
	if home := c.getenv("HOME"); dir == "" && home != "" {
		dir = filepath.Join(home, ".config")
	}
	if !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(dir, "fairlane", "credentials.yaml")
}

// credentials reads the file, by URL of the service; a missing file is no error.
func (c *cli) credentials() (map[string]credential, error) {
	all := map[string]credential{}
	path := c.credentialsPath()
	if path == "" {
		return all, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, usage.Wrap(err)
	}
	defer func() { _ = f.Close() }() // read only
	b, err := io.ReadAll(io.LimitReader(f, maxCredentials))
	if err == nil {
		err = yaml.Unmarshal(b, &all)
	}
	if err != nil {
		return nil, c.usage("err.credentials", "path", path)
	}
	return all, nil
}

// keepCredentials writes the file atomically, readable only by its owner.
func (c *cli) keepCredentials(all map[string]credential) error {
	path := c.credentialsPath()
	if path == "" {
		return c.usage("err.no-home")
	}
	b, err := yaml.Marshal(all)
	if err != nil {
		return fmt.Errorf("encode credentials: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	next, err := os.CreateTemp(filepath.Dir(path), ".credentials-*") // created with mode 0600
	if err != nil {
		return err
	}
	_, err = next.Write(b)
	if err = errors.Join(err, next.Sync(), next.Close()); err == nil {
		err = os.Rename(next.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write credentials: %w", err), os.Remove(next.Name()))
	}
	return nil
}

// secretFrom reads a secret from the first line of a file, or of standard input for "-". At a terminal it prompts with
// the text of the key. Secrets are never arguments, which every process on the machine can read.
func (c *cli) secretFrom(cmd *cobra.Command, path, key string) (string, error) {
	if in := person(cmd); in != nil && path == "-" {
		text, err := typed(cmd, in, c.t(key), true)
		if err == nil && text == "" {
			err = c.usage("err.empty-secret", "path", "stdin")
		}
		return text, err
	}
	r, name, err := c.open(cmd, path)
	if err != nil {
		return "", err
	}
	defer func() { _ = r.Close() }() // read only
	b, err := io.ReadAll(io.LimitReader(r, 4096))
	if err != nil {
		return "", usage.Wrap(err)
	}
	line, _, _ := strings.Cut(string(b), "\n")
	if line = strings.TrimSuffix(line, "\r"); line == "" {
		return "", c.usage("err.empty-secret", "path", name)
	}
	return line, nil
}

// newSecretFrom is secretFrom for a new secret: at a terminal, it must be typed twice.
func (c *cli) newSecretFrom(cmd *cobra.Command, path string) (string, error) {
	text, err := c.secretFrom(cmd, path, "msg.new-password")
	if err != nil || path != "-" || person(cmd) == nil {
		return text, err
	}
	again, err := c.secretFrom(cmd, path, "msg.same-password")
	if err == nil && again != text {
		err = c.usage("err.not-the-same")
	}
	return text, err
}
