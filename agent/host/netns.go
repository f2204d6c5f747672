package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"fairlane/agent/pods"
)

// NetNamespaces identifies network namespaces by the inode that the kernel gives each.
type NetNamespaces struct{ root string }

var _ pods.Namespaces = NetNamespaces{}

// NetNamespaces returns the network namespaces of the host.
func (h *Host) NetNamespaces() NetNamespaces { return NetNamespaces{h.options.Root} }

// at returns the place of a path of the host. The link /var/run is absolute, and would lead out of another root.
func (n NetNamespaces) at(path string) string {
	if n.root == "/" {
		return path
	}
	if rest, ok := strings.CutPrefix(path, "/var/run/"); ok {
		path = "/run/" + rest
	}
	return filepath.Join(n.root, path)
}

// Identify implements pods.Namespaces.
func (n NetNamespaces) Identify(path string) (string, error) {
	st, err := os.Stat(n.at(path))
	if err != nil {
		return "", fmt.Errorf("network namespace: %w", err)
	}
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return "", fmt.Errorf("network namespace %s: found no inode, want one", path)
	}
	return fmt.Sprintf("%d:%d", s.Dev, s.Ino), nil
}

var ofProcess = regexp.MustCompile(`^/proc/\d+/(task/\d+/)?ns/net$`)

// Gone implements pods.Namespaces. A path whose directory is missing too says nothing, since it may not be mounted here; a
// process takes its whole directory with it.
func (n NetNamespaces) Gone(path, id string) bool {
	now, err := n.Identify(path)
	switch {
	case err == nil:
		return now != id
	case !errors.Is(err, fs.ErrNotExist):
		return false
	}
	above := filepath.Dir(path)
	if ofProcess.MatchString(path) {
		above = "/proc"
	}
	_, err = os.Stat(n.at(above))
	return err == nil
}
