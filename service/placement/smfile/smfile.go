// Package smfile reads the file that says who manages a fabric's subnet and how it is told of tenants' partitions. A
// subnet manager is OpenSM, whose files we write and which we make read them, or UFM, which we ask by its REST API:
//
//	opensm:
//	  options: /etc/opensm/opensm.conf
//	  partitions: /etc/opensm/partitions.conf
//	  policy: /etc/opensm/qos-policy.conf    # may be left out
//	  unit: opensm.service                   # or pid_file: /run/opensm.pid
//	  leave: [options, policy, lanes]        # files that are only looked at; arbitration tables that are not written
//	  accept: [not-master]                   # problems, by code, that do not stop a rollout
//	  members: all                           # every port in every partition; else those that a tenant is attached to
//	  ipoib: false                           # partitions are not for IPoIB, by whose addresses rdma_cm finds them
//	  stop_congestion_control: true          # write congestion_control FALSE where the options say TRUE
//
//	ufm:
//	  url: https://ufm.example
//	  token_file: /etc/fairlane/ufm-token    # or user and password_file
//	  ca_file: /etc/fairlane/ufm-ca.pem      # may be left out
//	  accept: [service-levels]               # those that somebody else set in tenants' partitions are set by the next rollout
//
// Such a file is the operator's of the machine that the service runs on: it names files that are written and a process
// that is signalled, which nobody may say by the API.
package smfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlane/internal/yamltree"
)

// MaxBytes bounds a file.
const MaxBytes = 64 << 10

// File is a file that was read. Exactly one of its fields is set.
type File struct {
	OpenSM *OpenSM
	UFM    *UFM
}

// OpenSM is an OpenSM whose files we write. Paths are absolute.
type OpenSM struct {
	Options    string // the file given to it with -F
	Partitions string // its partition_config_file
	Policy     string // its qos_policy_file; empty: it has none
	Unit       string // systemd unit that is sent SIGHUP; empty: PIDFile
	PIDFile    string // file with the process id that is sent SIGHUP

	LeaveOptions, LeavePolicy, LeaveLanes bool     // not written
	Accept                                []string // codes of problems that do not stop a rollout
	AllMembers                            bool     // every port is in every partition
	NoIPoIB                               bool     // partitions are not for IPoIB
	StopCC                                bool     // congestion_control FALSE is written
}

// UFM is a Unified Fabric Manager. Paths are absolute.
type UFM struct {
	URL                string
	TokenFile          string // access token; empty: User
	User, PasswordFile string
	CAFile             string // authorities in PEM; empty: those of the system
	AcceptSLs          bool   // service levels of tenants' partitions that somebody else set do not stop a rollout
}

// Load reads a file; paths in it are relative to its directory. An error that is not of the file's content is the
// system's.
func Load(path string) (*File, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // read only
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	return Read(path, dir, r)
}

// Read reads the text of a file; name is for messages, and paths in it are relative to dir. The error joins *yamltree.Fault.
func Read(name, dir string, r io.Reader) (*File, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	d := &reader{name: name, dir: dir}
	if len(text) > MaxBytes {
		d.fault(0, "", fmt.Sprintf("has more than %d bytes; want fewer", MaxBytes))
		return nil, errors.Join(d.faults...)
	}
	var out File
	if root := d.root(text); root != nil {
		d.file(root, &out)
	}
	if len(d.faults) > 0 {
		return nil, errors.Join(d.faults...)
	}
	return &out, nil
}

type reader struct {
	name, dir string
	faults    []error
}

func (d *reader) fault(line int, field, text string) {
	d.faults = append(d.faults, &yamltree.Fault{File: d.name, Line: line, Field: field, Text: text})
}

func (d *reader) root(text []byte) *yaml.Node {
	root, err := yamltree.Only(text)
	var bad *yamltree.SyntaxError
	var second *yamltree.SecondError
	switch {
	case errors.As(err, &bad):
		d.fault(bad.Line, "", bad.Text+"; want valid YAML")
		return nil
	case errors.As(err, &second):
		d.fault(second.Line, "", "found a second document; want one")
		return nil
	case err != nil:
		d.faults = append(d.faults, err)
		return nil
	case root == nil:
		d.fault(0, "", "found nothing; want opensm or ufm")
		return nil
	}
	if a := yamltree.FirstAlias(root); a != nil {
		d.fault(a.Line, "", "found the anchor or alias "+quote(a.Anchor+a.Value)+"; want values written out")
		return nil
	}
	return root
}

func (d *reader) file(root *yaml.Node, out *File) {
	for e := range d.entries(root, "", []string{"opensm", "ufm"}) {
		switch {
		case out.OpenSM != nil || out.UFM != nil:
			d.fault(e.Key.Line, e.Key.Value, "found beside another; want one of opensm and ufm")
		case e.Key.Value == "opensm":
			out.OpenSM = d.opensm(e.Value)
		default:
			out.UFM = d.ufm(e.Value)
		}
	}
	if len(d.faults) == 0 && out.OpenSM == nil && out.UFM == nil {
		d.fault(root.Line, "", "found nothing; want opensm or ufm")
	}
}

// entries goes through the keys of a mapping that may be there.
func (d *reader) entries(n *yaml.Node, field string, keys []string) func(func(yamltree.Entry) bool) {
	prefix := field
	if prefix != "" {
		prefix += "."
	}
	return func(yield func(yamltree.Entry) bool) {
		if n.Kind != yaml.MappingNode {
			d.fault(n.Line, field, "found "+kind(n)+"; want a mapping with "+strings.Join(keys, ", "))
			return
		}
		for e := range yamltree.Entries(n, keys) {
			switch {
			case e.Index < 0:
				d.fault(e.Key.Line, field, "unknown key "+quote(e.Key.Value)+"; want "+strings.Join(keys, ", "))
			case e.Earlier > 0:
				d.fault(e.Key.Line, prefix+e.Key.Value, fmt.Sprintf("was given in line %d already; want it once", e.Earlier))
			default:
				if !yield(e) {
					return
				}
			}
		}
	}
}

// value is a key of a section: where its text goes, and what it may be.
type value struct {
	key   string
	to    *string
	check func(string) (want string) // empty: fine
	path  bool
	list  func(text string) (want string) // takes each entry of a list, instead of to
}

// section reads the values of a mapping and makes paths absolute.
func (d *reader) section(n *yaml.Node, field string, values []value) {
	keys := make([]string, len(values))
	for i := range values {
		keys[i] = values[i].key
	}
	for e := range d.entries(n, field, keys) {
		v, name := values[e.Index], field+"."+e.Key.Value
		if v.list != nil {
			d.list(e.Value, name, v.list)
			continue
		}
		switch text := e.Value.Value; {
		case e.Value.Kind != yaml.ScalarNode:
			d.fault(e.Value.Line, name, "found "+kind(e.Value)+"; want a text")
		case text == "" || yamltree.IsNull(e.Value):
			d.fault(e.Value.Line, name, "found no value; want one, or the key left out")
		case v.check != nil && v.check(text) != "":
			d.fault(e.Value.Line, name, "found "+quote(text)+"; want "+v.check(text))
		case v.path && !filepath.IsAbs(text):
			*v.to = filepath.Join(d.dir, text)
		default:
			*v.to = text
		}
	}
}

func (d *reader) list(n *yaml.Node, name string, take func(string) string) {
	if n.Kind != yaml.SequenceNode {
		d.fault(n.Line, name, "found "+kind(n)+"; want a list")
		return
	}
	for _, item := range n.Content {
		if want := take(item.Value); item.Kind != yaml.ScalarNode || want != "" {
			d.fault(item.Line, name, "found "+kind(item)+"; want "+want)
		}
	}
}

// need faults a key that is missing.
func (d *reader) need(n *yaml.Node, field, key, value, want string) {
	if value == "" && !d.faulty(field+"."+key) {
		d.fault(n.Line, field+"."+key, "missing; want "+want)
	}
}

// faulty says whether a field has a fault already.
func (d *reader) faulty(field string) bool {
	return slices.ContainsFunc(d.faults, func(err error) bool {
		var f *yamltree.Fault
		return errors.As(err, &f) && f.Field == field
	})
}

func (d *reader) opensm(n *yaml.Node) *OpenSM {
	o := &OpenSM{}
	var members, ipoib, stop string
	d.section(n, "opensm", []value{
		{key: "options", to: &o.Options, path: true},
		{key: "partitions", to: &o.Partitions, path: true},
		{key: "policy", to: &o.Policy, path: true},
		{key: "unit", to: &o.Unit, check: isUnit},
		{key: "pid_file", to: &o.PIDFile, path: true},
		{key: "leave", list: o.leave},
		{key: "accept", list: o.accept},
		{key: "members", to: &members, check: isOneOf("all", "attached")},
		{key: "ipoib", to: &ipoib, check: isOneOf("true", "false")},
		{key: "stop_congestion_control", to: &stop, check: isOneOf("true", "false")},
	})
	o.AllMembers, o.NoIPoIB, o.StopCC = members == "all", ipoib == "false", stop == "true"
	d.need(n, "opensm", "options", o.Options, "the file that OpenSM is given with -F")
	d.need(n, "opensm", "partitions", o.Partitions, "OpenSM's partition_config_file")
	d.apart(n, []value{{key: "options", to: &o.Options}, {key: "partitions", to: &o.Partitions}, {key: "policy", to: &o.Policy}, {key: "pid_file", to: &o.PIDFile}})
	switch {
	case o.Unit != "" && o.PIDFile != "":
		d.fault(n.Line, "opensm", "found both unit and pid_file; want one")
	case o.Unit == "" && !d.faulty("opensm.unit"):
		d.need(n, "opensm", "pid_file", o.PIDFile, "it, or unit, to make OpenSM read its files again")
	}
	return o
}

// apart notes a file that two keys of OpenSM's name: one would be written over by the other.
func (d *reader) apart(n *yaml.Node, files []value) {
	for i := range files {
		for j := range files[:i] {
			if *files[i].to != "" && filepath.Clean(*files[i].to) == filepath.Clean(*files[j].to) {
				d.fault(n.Line, "opensm."+files[i].key, fmt.Sprintf("found the file of %s; want another", files[j].key))
			}
		}
	}
}

func (o *OpenSM) leave(what string) (want string) {
	switch what {
	case "options":
		o.LeaveOptions = true
	case "policy":
		o.LeavePolicy = true
	case "lanes":
		o.LeaveLanes = true
	default:
		return "options, policy or lanes"
	}
	return ""
}

func (o *OpenSM) accept(code string) (want string) {
	if code == "" {
		return "the code of a problem"
	}
	o.Accept = append(o.Accept, code)
	return ""
}

func isOneOf(words ...string) func(string) string {
	return func(s string) string {
		if slices.Contains(words, s) {
			return ""
		}
		return strings.Join(words, " or ")
	}
}

func (d *reader) ufm(n *yaml.Node) *UFM {
	u := &UFM{}
	d.section(n, "ufm", []value{
		{key: "url", to: &u.URL},
		{key: "token_file", to: &u.TokenFile, path: true},
		{key: "user", to: &u.User},
		{key: "password_file", to: &u.PasswordFile, path: true},
		{key: "ca_file", to: &u.CAFile, path: true},
		{key: "accept", list: u.accept},
	})
	d.need(n, "ufm", "url", u.URL, "https://HOST or https://HOST:PORT")
	switch {
	case u.TokenFile != "" && (u.User != "" || u.PasswordFile != ""):
		d.fault(n.Line, "ufm", "found a token and a user; want one way to sign in")
	case u.TokenFile == "" && u.User == "" && !d.faulty("ufm.user"):
		d.need(n, "ufm", "token_file", "", "it, or user and password_file")
	case u.User != "":
		d.need(n, "ufm", "password_file", u.PasswordFile, "the file with the user's password")
	}
	return u
}

func (u *UFM) accept(what string) (want string) {
	if what != "service-levels" {
		return "service-levels"
	}
	u.AcceptSLs = true
	return ""
}

var unitName = regexp.MustCompile(`^[A-Za-z0-9:_.@\\-]{1,240}\.service$`)

func isUnit(s string) string {
	if !unitName.MatchString(s) || strings.HasPrefix(s, "-") {
		return "the name of a unit, such as opensm.service"
	}
	return ""
}

func kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	default:
		if yamltree.IsNull(n) {
			return "nothing"
		}
		return quote(n.Value)
	}
}

func quote(s string) string { return fmt.Sprintf("%.60q", s) }
