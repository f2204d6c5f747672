// Package bindfile reads the bindings of namespaces to tenants from a YAML file, for hosts without a cluster:
//
//	bindings:
//	  - namespace: team-a
//	    tenant: gold
//	    class: bulk
//	    failPolicy: closed
//	    levers: {maxMbps: 40000, shareOf1000: 250, tos: 104}
package bindfile

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"fairlane/agent/pods"
	"fairlane/agent/pods/podsock"
	"fairlane/internal/phrase"
	"fairlane/internal/yamltree"
)

// maxFile bounds the file, in bytes.
const maxFile = 4 << 20

// file is the form of the file.
type file struct {
	Bindings []row `json:"bindings" most:"10000"`
}

type row struct {
	Namespace  string `json:"namespace" want:"bindings.want-namespace"`
	Tenant     string `json:"tenant" want:"want.name"`
	Class      string `json:"class"`
	FailPolicy string `json:"failPolicy" of:"closed,open"`
	Levers     levers `json:"levers"`
}

type levers struct {
	MaxMbps     *uint32 `json:"maxMbps" in:"1..4294967295"`
	ShareOf1000 *uint16 `json:"shareOf1000" in:"1..1000"`
	TOS         *uint8  `json:"tos" in:"0..255"`
}

// defaultClass is the class of a binding that names none.
const defaultClass = "default"

// parse reads a file and returns the bindings by namespace. Its error names all faults with their lines.
func parse(name string) (map[string]pods.Binding, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	read, d := yamltree.Decode[file](name, f, maxFile)
	out := make(map[string]pods.Binding, len(read.Bindings))
	for i, r := range read.Bindings {
		field := fmt.Sprintf("bindings[%d].namespace", i)
		_, twice := out[r.Namespace]
		switch {
		case d.Faulty(field):
		case (podsock.Pod{Namespace: r.Namespace}).CheckIdentity() != nil:
			d.FaultAt(field, yamltree.Found(yamltree.Quoted(r.Namespace), phrase.Of("bindings.want-namespace")))
		case twice:
			d.FaultAt(field, phrase.Of("bindings.twice", "namespace", r.Namespace))
		}
		if r.Class == "" {
			r.Class = defaultClass
		}
		out[r.Namespace] = pods.Binding{
			Name: r.Namespace, Tenant: r.Tenant, Class: r.Class, FailPolicy: podsock.FailPolicy(r.FailPolicy),
			Levers: podsock.Levers{MaxMbps: r.Levers.MaxMbps, ShareOf1000: r.Levers.ShareOf1000, TOS: r.Levers.TOS},
		}
	}
	return out, d.Err()
}

// File is the bindings of a file. It reads the file again when it changes; while that fails, the bindings before stay in
// force, and their age grows.
type File struct {
	path string
	now  func() time.Time
	log  *slog.Logger

	mu       sync.Mutex
	bindings map[string]pods.Binding
	stamp    stamp
	looked   time.Time // when the file was last examined
	good     time.Time // when it was last valid
	failed   string    // error of the last attempt, which was logged
}

// stamp changes with the contents of a file.
type stamp struct {
	modified time.Time
	size     int64
}

// lookEvery is the shortest time between two examinations of the file.
const lookEvery = time.Second

// Open reads a file.
func Open(path string, now func() time.Time, log *slog.Logger) (*File, error) {
	f := &File{path: path, now: now, log: log}
	if err := f.read(); err != nil {
		return nil, err
	}
	return f, nil
}

var _ pods.Bindings = (*File)(nil)

// read reads the file, unless it is unchanged. The caller holds mu, or is the only one.
func (f *File) read() error {
	f.looked = f.now()
	st, err := os.Stat(f.path)
	if err != nil {
		return err
	}
	s := stamp{st.ModTime(), st.Size()}
	if f.bindings == nil || s != f.stamp || f.failed != "" {
		bindings, err := parse(f.path)
		if err != nil {
			return err
		}
		f.bindings, f.stamp = bindings, s
	}
	f.good = f.looked
	return nil
}

func (f *File) Binding(namespace string) (pods.Binding, time.Duration, pods.State) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := f.now(); now.Sub(f.looked) >= lookEvery {
		failed := ""
		if err := f.read(); err != nil {
			failed = err.Error()
		}
		if failed != "" && failed != f.failed {
			f.log.Error("bindings not read; the ones before stay in force", "file", f.path, "error", failed)
		}
		f.failed = failed
	}
	age := time.Duration(0)
	if f.failed != "" {
		age = f.now().Sub(f.good)
	}
	if b, ok := f.bindings[namespace]; ok {
		return b, age, pods.Bound
	}
	return pods.Binding{}, age, pods.Unbound
}
