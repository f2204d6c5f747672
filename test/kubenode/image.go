package kubenode

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// pause is the source of the program in the image.
const pause = `package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM)
	<-c
}
`

// image makes the image of all pods, and imports it. No registry is asked.
func (n *Node) image(t testing.TB) error {
	if err := os.WriteFile(n.path("pause.go"), []byte(pause), 0o600); err != nil {
		return err
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", n.path("pause"), n.path("pause.go"))
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("program of the image: %w: %s", err, out)
	}
	program, err := os.ReadFile(n.path("pause"))
	if err != nil {
		return err
	}
	layer := archive(file{"pause", program, 0o755})
	sum := sha256.Sum256(layer)
	config, err := json.Marshal(map[string]any{
		"architecture": "amd64", "os": "linux", "config": map[string]any{"Entrypoint": []string{"/pause"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(sum[:])}},
	})
	if err != nil {
		return err
	}
	manifest, err := json.Marshal([]map[string]any{{"Config": "config.json", "RepoTags": []string{Image}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return err
	}
	image := archive(file{"manifest.json", manifest, 0o644}, file{"config.json", config, 0o644}, file{"layer.tar", layer, 0o644})
	if err := os.WriteFile(n.path("image.tar"), image, 0o600); err != nil {
		return err
	}
	return n.Import(n.path("image.tar"))
}

// Import imports an archive with an image. No registry is asked.
func (n *Node) Import(archive string) error {
	if out, err := n.ctr("images", "import", archive).CombinedOutput(); err != nil {
		return fmt.Errorf("import of %s: %w: %s", archive, err, out)
	}
	return nil
}

// Output returns the ends of the logs of a pod's containers, as the kubelet keeps them.
func (n *Node) Output(pod string) string {
	files, err := filepath.Glob("/var/log/pods/*_" + pod + "_*/*/*.log")
	if err != nil {
		return err.Error()
	}
	var out strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		fmt.Fprintf(&out, "%s: %v\n%s\n", f, err, text[max(0, len(text)-4000):])
	}
	return out.String()
}

type file struct {
	name string
	text []byte
	mode int64
}

// archive returns a tar archive.
func archive(files ...file) []byte {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Size: int64(len(f.text)), Mode: f.mode, Typeflag: tar.TypeReg}); err != nil {
			panic(err) // a buffer takes everything
		}
		if _, err := w.Write(f.text); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}
