// Package images tests the recipe of the container images: make images.
package images

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// recipe builds the recipe's program.
func recipe(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "images")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", bin, ".")
	build.Dir = "../../tools/images"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return bin
}

// programs writes stand-ins for the programs of platforms, with times of their own.
func programs(t *testing.T, when time.Time, platforms ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, p := range platforms {
		if err := os.Mkdir(filepath.Join(dir, p), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"fairlane", "fairlane-agent", "fairlane-cni", "fairlane-kube"} {
			path := filepath.Join(dir, p, name)
			if err := errors.Join(os.WriteFile(path, []byte(p+" "+name), 0o600), os.Chtimes(path, when, when)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// write runs the recipe and returns the folder of the archives.
func write(t *testing.T, bin string, args ...string) string {
	t.Helper()
	out := t.TempDir()
	if text, err := exec.CommandContext(t.Context(), bin, append([]string{"-root", "../..", "-out", out, "-version", "1.2.3", "-registry", "registry.example/fairlane"}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

// untar returns the entries of an archive, and the texts of its files.
func untar(t *testing.T, r io.Reader) (map[string]*tar.Header, map[string][]byte) {
	t.Helper()
	headers, texts := map[string]*tar.Header{}, map[string][]byte{}
	for in := tar.NewReader(r); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return headers, texts
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		headers[h.Name], texts[h.Name] = h, text
	}
}

// descriptor is what refers to a part of an image.
type descriptor struct {
	MediaType   string
	Digest      string
	Size        int64
	Annotations map[string]string
	Platform    struct{ Architecture, OS string }
}

// manifest is an index or the manifest of an image.
type manifest struct {
	MediaType         string
	Manifests, Layers []descriptor
	Config            descriptor
}

// config is the configuration of an image.
type config struct {
	Architecture, OS string
	Config           struct {
		User, WorkingDir string
		Entrypoint       []string
	}
}

// archive is an image as the recipe wrote it.
type archive struct {
	t     *testing.T
	texts map[string][]byte
}

func open(t *testing.T, path string) archive {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, texts := untar(t, bytes.NewReader(text))
	if got := string(texts["oci-layout"]); !strings.Contains(got, `"imageLayoutVersion"`) {
		t.Errorf("%s: oci-layout is %q", path, got)
	}
	return archive{t, texts}
}

// blob decodes a part, whose size and digest must be those of the descriptor.
func (a archive) blob(d descriptor, into any) []byte {
	a.t.Helper()
	text := a.texts["blobs/"+strings.Replace(d.Digest, ":", "/", 1)]
	if sum := sha256.Sum256(text); d.Digest != "sha256:"+hex.EncodeToString(sum[:]) || d.Size != int64(len(text)) {
		a.t.Fatalf("%+v: the archive has %d bytes with another digest", d, len(text))
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			a.t.Fatal(err)
		}
	}
	return text
}

// top returns what the archive's index names: the digest of the image.
func (a archive) top() descriptor {
	a.t.Helper()
	var index manifest
	if err := json.Unmarshal(a.texts["index.json"], &index); err != nil || len(index.Manifests) != 1 {
		a.t.Fatalf("%v: %s", err, a.texts["index.json"])
	}
	return index.Manifests[0]
}

func TestImagesOfSeveralPlatforms(t *testing.T) {
	t.Parallel()
	bin := recipe(t)
	out := write(t, bin, "-platforms", "linux/amd64,linux/arm64", "-programs", programs(t, time.Now(), "linux-amd64", "linux-arm64"))
	for name, want := range map[string]struct {
		user  string
		files []string
	}{
		"fairlane":       {"65532:65532", []string{"LICENSE", "fairlane", "var/", "var/lib/", "var/lib/fairlane/"}},
		"fairlane-agent": {"0:0", []string{"LICENSE", "fairlane-agent", "fairlane-cni", "var/", "var/run"}},
		"fairlane-kube":  {"65532:65532", []string{"LICENSE", "fairlane-kube"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := open(t, filepath.Join(out, name+".tar"))
			top := a.top()
			if got := top.Annotations["io.containerd.image.name"]; got != "registry.example/fairlane/"+name+":1.2.3" {
				t.Errorf("the image is named %q", got)
			}
			var index manifest
			a.blob(top, &index)
			var platforms []string
			for _, d := range index.Manifests {
				platforms = append(platforms, d.Platform.OS+"/"+d.Platform.Architecture)
				var m manifest
				a.blob(d, &m)
				var c config
				a.blob(m.Config, &c)
				if c.OS+"/"+c.Architecture != platforms[len(platforms)-1] || c.Config.User != want.user || !slices.Equal(c.Config.Entrypoint, []string{"/" + name}) {
					t.Errorf("configuration %+v", c)
				}
				checkLayer(t, a, m, d.Platform.Architecture, name, want.files)
			}
			if !slices.Equal(platforms, []string{"linux/amd64", "linux/arm64"}) {
				t.Errorf("platforms are %v", platforms)
			}
		})
	}
	var values map[string]struct {
		Image struct{ Repository, Digest string }
	}
	text, err := os.ReadFile(filepath.Join(out, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	for of, v := range values {
		if top := open(t, filepath.Join(out, v.Image.Repository+".tar")).top(); top.Digest != v.Image.Digest {
			t.Errorf("%s: values.yaml has %s, the archive %s", of, v.Image.Digest, top.Digest)
		}
	}
	if got := slices.Sorted(maps.Keys(values)); !slices.Equal(got, []string{"agent", "controller", "manager"}) {
		t.Errorf("values.yaml has %v", got)
	}
}

// checkLayer checks the files of an image of one platform.
func checkLayer(t *testing.T, a archive, m manifest, architecture, name string, want []string) {
	t.Helper()
	if len(m.Layers) != 1 {
		t.Fatalf("%d layers", len(m.Layers))
	}
	r, err := gzip.NewReader(bytes.NewReader(a.blob(m.Layers[0], nil)))
	if err != nil {
		t.Fatal(err)
	}
	headers, texts := untar(t, r)
	if got := slices.Sorted(maps.Keys(headers)); !slices.Equal(got, want) {
		t.Errorf("files are %v, want %v", got, want)
	}
	if got := string(texts[name]); got != "linux-"+architecture+" "+name || headers[name].Mode != 0o755 {
		t.Errorf("the program is %q, mode %o", got, headers[name].Mode)
	}
	for path, h := range headers {
		if !h.ModTime.Equal(time.Unix(0, 0)) || h.Uname != "" || (h.Uid != 0 && path != "var/lib/fairlane/") {
			t.Errorf("%s: %+v", path, h)
		}
	}
}

// TestTheSameProgramsGiveTheSameImages writes images twice, from programs with other times and in another folder.
func TestTheSameProgramsGiveTheSameImages(t *testing.T) {
	t.Parallel()
	bin := recipe(t)
	base := filepath.Join(t.TempDir(), "base.tar")
	if err := os.WriteFile(base, tarOf(t, "usr/sbin/devlink"), 0o600); err != nil {
		t.Fatal(err)
	}
	authorities := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(authorities, []byte("authorities"), 0o600); err != nil {
		t.Fatal(err)
	}
	more := []string{"-agent-base", base, "-ca", authorities}
	one := write(t, bin, append(more, "-programs", programs(t, time.Now(), "linux-amd64"))...)
	two := write(t, bin, append(more, "-programs", programs(t, time.Now().Add(-time.Hour), "linux-amd64"))...)
	plain := write(t, bin, "-programs", programs(t, time.Now(), "linux-amd64"))
	for _, name := range []string{"fairlane.tar", "fairlane-agent.tar", "fairlane-kube.tar", "values.yaml"} {
		texts := make([][]byte, 3)
		for i, dir := range []string{one, two, plain} {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			texts[i] = text
		}
		if !bytes.Equal(texts[0], texts[1]) {
			t.Errorf("%s differs between two runs", name)
		}
		if bytes.Equal(texts[0], texts[2]) {
			t.Errorf("%s is the same with other files in the image", name)
		}
	}
	a := open(t, filepath.Join(one, "fairlane-agent.tar"))
	var m manifest
	a.blob(a.top(), &m)
	if len(m.Layers) != 2 {
		t.Errorf("with a base the agent's image has %d layers", len(m.Layers))
	}
	for _, args := range [][]string{{}, {"-out", "x"}, {"-version", "1"}, {"-out", t.TempDir(), "-version", "1", "-agent-base", base, "-platforms", "linux/amd64,linux/arm64"}, {"-out", t.TempDir(), "-version", "1", "-programs", t.TempDir()}} {
		if out, err := exec.CommandContext(t.Context(), bin, args...).CombinedOutput(); err == nil {
			t.Errorf("%v is accepted: %s", args, out)
		}
	}
}

// tarOf returns an archive with one file.
func tarOf(t *testing.T, name string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	text := []byte(fmt.Sprintln(name))
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}); err != nil {
		t.Fatal(err)
	}
	_, err := w.Write(text)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
