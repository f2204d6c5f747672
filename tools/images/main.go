// Command images writes the container images of Fairlane as OCI archives: NAME.tar for each image, and values.yaml with their
// digests for the Helm chart. It needs neither a container runtime nor a registry. The same programs give the same bytes.
package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// image is what an image has.
type image struct {
	name     string
	of       string // component of the chart
	programs []string
	user     string // of the process
	home     string // folder that belongs to the user; empty: none
	links    map[string]string
}

// nobody is the user of images whose processes need nothing of the host.
const nobody = "65532:65532"

var images = []image{
	{name: "fairlane", of: "manager", programs: []string{"fairlane"}, user: nobody, home: "var/lib/fairlane"},
	// The owner of the files of devices. Container runtimes name network namespaces by /var/run.
	{name: "fairlane-agent", of: "agent", programs: []string{"fairlane-agent", "fairlane-cni"}, user: "0:0", links: map[string]string{"var/run": "/run"}},
	{name: "fairlane-kube", of: "controller", programs: []string{"fairlane-kube"}, user: nobody},
}

// options are the values of the command line.
type options struct {
	root, out, programs, version, registry, authorities, base string
	platforms                                                 []string
}

func main() {
	var o options
	var platforms string
	flag.StringVar(&o.root, "root", "../..", "the source of Fairlane")
	flag.StringVar(&o.out, "out", "", "folder of the archives")
	flag.StringVar(&o.programs, "programs", "", "folder with built programs, as OS-ARCHITECTURE/PROGRAM; without it, they are built")
	flag.StringVar(&o.version, "version", "", "tag of the images")
	flag.StringVar(&o.registry, "registry", "", "registry and folder in the names of the images, such as registry.example/fairlane")
	flag.StringVar(&o.authorities, "ca", "", "file with the certificate authorities of all images; without it, the images have none")
	flag.StringVar(&o.base, "agent-base", "", "archive of files that the agent's image starts from, such as a system with devlink and ethtool; of one platform")
	flag.StringVar(&platforms, "platforms", "linux/amd64", "platforms, with commas between them")
	flag.Parse()
	o.platforms = strings.Split(platforms, ",")
	if err := o.write(); err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

// write writes all images.
func (o *options) write() error {
	switch {
	case o.out == "" || o.version == "" || flag.NArg() > 0:
		return errors.New("want -out and -version, and no arguments")
	case o.base != "" && len(o.platforms) > 1:
		return errors.New("-agent-base: want one platform, since an archive is of one")
	}
	if o.programs == "" {
		dir, err := os.MkdirTemp("", "fairlane-images")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		if err := o.build(dir); err != nil {
			return err
		}
		o.programs = dir
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	var values strings.Builder
	values.WriteString("# Digests of the images, for the Helm chart: helm install --values FILE.\n")
	for _, i := range images {
		digest, err := o.archive(&i)
		if err != nil {
			return fmt.Errorf("%s: %w", i.name, err)
		}
		fmt.Printf("%s:%s %s\n", i.name, o.version, digest)
		fmt.Fprintf(&values, "%s:\n  image: {repository: %s, digest: %q}\n", i.of, i.name, digest.String())
	}
	return os.WriteFile(filepath.Join(o.out, "values.yaml"), []byte(values.String()), 0o644)
}

// build builds the programs of all platforms, static and without paths of this machine.
func (o *options) build(dir string) error {
	for _, p := range o.platforms {
		system, architecture, _ := strings.Cut(p, "/")
		to := filepath.Join(dir, system+"-"+architecture)
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		args := []string{"build", "-trimpath", "-ldflags", "-s -w", "-o", to + string(filepath.Separator)}
		for _, i := range images {
			for _, program := range i.programs {
				args = append(args, "./cmd/"+program)
			}
		}
		build := exec.Command("go", args...)
		build.Dir, build.Stdout, build.Stderr = o.root, os.Stderr, os.Stderr
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+architecture)
		if err := build.Run(); err != nil {
			return fmt.Errorf("build for %s: %w", p, err)
		}
	}
	return nil
}

// archive writes one image, and returns the digest that it has in a registry too.
func (o *options) archive(i *image) (v1.Hash, error) {
	var all []mutate.IndexAddendum
	for _, p := range o.platforms {
		one, err := o.image(i, p)
		if err != nil {
			return v1.Hash{}, err
		}
		system, architecture, _ := strings.Cut(p, "/")
		all = append(all, mutate.IndexAddendum{Add: one, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: system, Architecture: architecture}}})
	}
	name := strings.TrimPrefix(o.registry+"/"+i.name+":"+o.version, "/")
	named := v1.Descriptor{Annotations: map[string]string{"org.opencontainers.image.ref.name": o.version, "io.containerd.image.name": name}}
	top := mutate.IndexAddendum{Add: all[0].Add, Descriptor: named}
	top.Platform = all[0].Platform
	if len(all) > 1 {
		top = mutate.IndexAddendum{Add: mutate.IndexMediaType(mutate.AppendManifests(empty.Index, all...), types.OCIImageIndex), Descriptor: named}
	}
	dir, err := os.MkdirTemp("", "fairlane-image")
	if err != nil {
		return v1.Hash{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if _, err := layout.Write(dir, mutate.AppendManifests(empty.Index, top)); err != nil {
		return v1.Hash{}, err
	}
	digest, err := top.Add.Digest()
	if err != nil {
		return v1.Hash{}, err
	}
	return digest, pack(dir, filepath.Join(o.out, i.name+".tar"))
}

// image returns an image of one platform.
func (o *options) image(i *image, platform string) (v1.Image, error) {
	files, err := o.files(i, strings.ReplaceAll(platform, "/", "-"))
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := writeTar(&text, files); err != nil {
		return nil, err
	}
	one := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	openers := []tarball.Opener{func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text.Bytes())), nil }}
	if i.of == "agent" && o.base != "" {
		openers = slices.Insert(openers, 0, func() (io.ReadCloser, error) { return os.Open(o.base) })
	}
	for _, opener := range openers {
		l, err := tarball.LayerFromOpener(opener, tarball.WithMediaType(types.OCILayer))
		if err != nil {
			return nil, err
		}
		if one, err = mutate.AppendLayers(one, l); err != nil {
			return nil, err
		}
	}
	config, err := one.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, _ = strings.Cut(platform, "/")
	config.Config = v1.Config{
		Entrypoint: []string{"/" + i.programs[0]}, User: i.user, WorkingDir: "/" + i.home, Env: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"},
		Labels: map[string]string{"org.opencontainers.image.title": i.name, "org.opencontainers.image.version": o.version},
	}
	return mutate.ConfigFile(one, config)
}

// files returns the files of an image, by their paths.
func (o *options) files(i *image, platform string) (map[string]file, error) {
	out := map[string]file{}
	for _, program := range i.programs {
		text, err := os.ReadFile(filepath.Join(o.programs, platform, program))
		if err != nil {
			return nil, err
		}
		out[program] = file{text: text, mode: 0o755}
	}
	licence, err := os.ReadFile(filepath.Join(o.root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	out["LICENSE"] = file{text: licence, mode: 0o644}
	if o.authorities != "" {
		text, err := os.ReadFile(o.authorities)
		if err != nil {
			return nil, err
		}
		out["etc/ssl/certs/ca-certificates.crt"] = file{text: text, mode: 0o644}
	}
	for from, to := range i.links {
		out[from] = file{link: to, mode: 0o777}
	}
	// The root of a volume gets the rights of the folder in the image.
	if i.home != "" {
		out[i.home] = file{folder: true, mode: 0o750, owner: 65532}
	}
	return out, nil
}

// file is an entry of an archive.
type file struct {
	text   []byte
	link   string // target of a symbolic link
	folder bool
	mode   int64
	owner  int // user and group
}

// writeTar writes an archive with the same bytes for the same files: sorted, without times and names of users. It has all folders.
func writeTar(to io.Writer, files map[string]file) error {
	for path := range files {
		for dir := filepath.Dir(path); dir != "."; dir = filepath.Dir(dir) {
			if _, known := files[dir]; !known {
				files[dir] = file{folder: true, mode: 0o755}
			}
		}
	}
	w := tar.NewWriter(to)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		f := files[path]
		h := &tar.Header{Name: path, Mode: f.mode, Size: int64(len(f.text)), Typeflag: tar.TypeReg, Uid: f.owner, Gid: f.owner, ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
		switch {
		case f.link != "":
			h.Typeflag, h.Linkname = tar.TypeSymlink, f.link
		case f.folder:
			h.Typeflag, h.Name = tar.TypeDir, path+"/"
		}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := w.Write(f.text); err != nil {
			return err
		}
	}
	return w.Close()
}

// pack writes a folder as an archive, completely or not at all.
func pack(dir, to string) error {
	files := map[string]file{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		files[filepath.ToSlash(name)] = file{text: text, mode: 0o644}
		return err
	})
	if err != nil {
		return err
	}
	w, err := os.CreateTemp(filepath.Dir(to), ".image")
	if err != nil {
		return err
	}
	err = cmp.Or(writeTar(w, files), w.Chmod(0o644), w.Close())
	if err == nil {
		err = os.Rename(w.Name(), to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(w.Name()))
	}
	return nil
}
