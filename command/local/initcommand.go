package local

import (
	"bytes"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"fairlane/command/cmdline"
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
	"fairlane/policy"
)

// labTemplates are the files of a new lab.
//
//go:embed lab
var labTemplates embed.FS

// Secrets of a new lab, generated with it.
const (
	labToken    = "admin.token"
	labPassword = "ada.password"
)

// labValues are the values for the templates of a lab.
type labValues struct {
	Plane      policy.Plane
	InfiniBand bool
	Hosts      []string
	Rate       string // of every link
	PlaneFlag  string // for commands; "" on the default plane
	Serve      string // flags of `sim serve` for the fabric's addresses
	Source     string // where the service reaches the fabric
	TimeScale  string // simulated seconds per second
}

// labFile is one file of a lab.
type labFile struct {
	name string
	text []byte
	mode fs.FileMode
}

func (a *app) initCommand() *cobra.Command {
	var plane string
	cmd := &cobra.Command{
		Use: "init DIR", Short: a.T("init.short"), Long: a.T("init.long"), Args: cmdline.OneArgument("DIR"),
		Example: "  fairlane init lab\n  fairlane init lab --plane roce",
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := cmdline.ParsePlane(plane)
			if err != nil {
				return err
			}
			return a.runInit(args[0], p)
		},
	}
	cmd.Flags().StringVar(&plane, "plane", string(policy.PlaneIB), a.T("init.flag.plane"))
	return cmd
}

// runInit writes a lab into a directory that does not exist or is empty.
func (a *app) runInit(dir string, plane policy.Plane) error {
	files, err := labOf(plane, a.T("init.readme"))
	if err != nil {
		return err
	}
	if err := emptyDir(dir); err != nil {
		return err
	}
	if err := writeNew(dir, files); err != nil {
		return err
	}
	var names []string
	for _, f := range files {
		names = append(names, f.name)
	}
	_, err = fmt.Fprintln(a.Stdout, a.T("init.written", "dir", dir, "files", strings.Join(names, ", ")))
	return err
}

// labOf builds the files of a lab for a plane, with the README of the given name.
func labOf(plane policy.Plane, readme string) ([]labFile, error) {
	v := labValues{Plane: plane, InfiniBand: plane == policy.PlaneIB, Rate: "25Gbit/s", TimeScale: "0.05", Serve: "--dir devices", Source: "ethernet:devices/inventory.yaml"}
	if v.InfiniBand {
		v.Rate, v.TimeScale, v.Serve, v.Source = "100Gbit/s", "0.1", "--addr unix:lab", "ibsim:unix:lab"
	} else {
		v.PlaneFlag = "--plane " + string(plane) + " "
	}
	for i := range 8 {
		v.Hosts = append(v.Hosts, fmt.Sprintf("host%d", i+1))
	}
	all, err := template.ParseFS(labTemplates, "lab/*")
	if err != nil {
		return nil, err
	}
	var out []labFile
	for _, f := range []struct{ name, from string }{
		{"README.md", readme}, {"fabric.yaml", "fabric.yaml"}, {"tenants.yaml", "tenants.yaml"}, {"scenario.yaml", "scenario.yaml"}, {"fairlane.yaml", "fairlane.yaml"},
	} {
		var text bytes.Buffer
		if err := all.ExecuteTemplate(&text, f.from, v); err != nil {
			return nil, err
		}
		out = append(out, labFile{f.name, text.Bytes(), 0o644})
	}
	return append(out, labFile{labToken, []byte(rand.Text() + rand.Text() + "\n"), 0o600}, labFile{labPassword, []byte(rand.Text() + "\n"), 0o600}), nil
}

// emptyDir creates a directory; an existing one must be empty.
func emptyDir(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return usage.Wrap(err)
		}
		return nil
	case err != nil:
		return usage.Wrap(phrase.Because(err, phrase.Of("init.unreadable", "reason", err)))
	case len(entries) > 0:
		return usage.Of(phrase.Of("init.not-empty", "file", filepath.Join(dir, entries[0].Name())))
	}
	return nil
}

// writeNew writes files that do not exist yet, all or none.
func writeNew(dir string, files []labFile) error {
	for i, f := range files {
		if err := writeOne(filepath.Join(dir, f.name), f); err != nil {
			for _, done := range files[:i] {
				err = errors.Join(err, os.Remove(filepath.Join(dir, done.name)))
			}
			return err
		}
	}
	return nil
}

func writeOne(path string, f labFile) error {
	w, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, f.mode)
	if err != nil {
		return err
	}
	_, err = w.Write(f.text)
	if err = errors.Join(err, w.Close()); err != nil {
		return errors.Join(phrase.Because(err, phrase.Of("file.write", "file", path, "reason", err)), os.Remove(path))
	}
	return nil
}
