// Package smfile reads the file that describes the subnet manager of a fabric and how tenants' partitions reach it. The
// subnet manager is OpenSM, whose files Fairlane writes and which it signals to read them, or UFM, which Fairlane calls
// by its REST API:
//
//	opensm:
//	  options: /etc/opensm/opensm.conf
//	  partitions: /etc/opensm/partitions.conf
//	  policy: /etc/opensm/qos-policy.conf    # optional
//	  unit: opensm.service                   # or pid_file: /run/opensm.pid
//	  leave: [options, policy, lanes]        # files that are only read; arbitration tables that are not written
//	  accept: [not-master]                   # problems, by code, that do not stop a rollout
//	  members: all                           # every port in every partition; default: those that a tenant is attached to
//	  ipoib: false                           # partitions are not for IPoIB, by whose addresses rdma_cm finds them
//	  stop_congestion_control: true          # write congestion_control FALSE where the options say TRUE
//
//	ufm:
//	  url: https://ufm.example
//	  token_file: /etc/fairlane/ufm-token    # or user and password_file
//	  ca_file: /etc/fairlane/ufm-ca.pem      # optional
//	  accept: [service-levels]               # the next rollout replaces those that another writer set in tenants' partitions
//
// Such a file belongs to the operator of the service's machine: it names files that are written and a process that is
// signalled, which no client of the API may name.
package smfile

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlane/internal/phrase"
	"fairlane/internal/yamltree"
	"fairlane/subnet/opensm/osmfile"
)

// MaxBytes is the maximum size of a file.
const MaxBytes = 64 << 10

// File is the content of a file. Exactly one of its fields is set.
type File struct {
	OpenSM *OpenSM
	UFM    *UFM
}

// OpenSM is an OpenSM whose files Fairlane writes. Paths are absolute.
type OpenSM struct {
	Options    string // the file of its option -F
	Partitions string // its partition_config_file
	Policy     string // its qos_policy_file; empty: it has none
	Unit       string // systemd unit that receives SIGHUP; empty: PIDFile
	PIDFile    string // file with the id of the process that receives SIGHUP

	LeaveOptions, LeavePolicy, LeaveLanes bool           // not written
	Accept                                []osmfile.Code // problems that do not stop a rollout
	AllMembers                            bool           // every port is in every partition
	NoIPoIB                               bool           // partitions are not for IPoIB
	StopCC                                bool           // congestion_control FALSE is written
}

// UFM is a Unified Fabric Manager. Paths are absolute.
type UFM struct {
	URL                string
	TokenFile          string // access token; empty: User
	User, PasswordFile string
	CAFile             string // authorities in PEM; empty: those of the system
	AcceptSLs          bool   // service levels that another writer set in tenants' partitions do not stop a rollout
}

// Load reads a file; paths in it are relative to its directory. An error that does not concern the file's content is
// the operating system's.
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

// Read parses the text of a file; name is for error messages, and paths in the text are relative to dir. The error
// joins values of type *yamltree.Fault.
func Read(name, dir string, r io.Reader) (*File, error) {
	f, d := yamltree.Decode[struct {
		OpenSM *opensm `json:"opensm"`
		UFM    *ufm    `json:"ufm"`
	}](name, r, MaxBytes)
	out := new(File)
	switch {
	case f.OpenSM != nil && f.UFM != nil:
		d.FaultAt("ufm", phrase.Of("smfile.both"))
	case f.OpenSM != nil:
		out.OpenSM = f.OpenSM.checked(d, dir)
	case f.UFM != nil:
		out.UFM = f.UFM.checked(d, dir)
	case d.Faults() == 0:
		d.FaultAt("", phrase.Of("smfile.neither"))
	}
	if err := d.Err(); err != nil {
		return nil, err
	}
	return out, nil
}

// path is a path in a file.
type path string

// DecodeNode requires a path that is not empty.
func (p *path) DecodeNode(d *yamltree.Decoder, n *yaml.Node, field string) {
	decodeText(d, n, field, p)
}

// text is a text in a file.
type text string

// DecodeNode requires a text that is not empty.
func (t *text) DecodeNode(d *yamltree.Decoder, n *yaml.Node, field string) {
	decodeText(d, n, field, t)
}

// code is the code of a problem in a file.
type code string

// DecodeNode requires the code of a known problem.
func (c *code) DecodeNode(d *yamltree.Decoder, n *yaml.Node, field string) {
	before := d.Faults()
	decodeText(d, n, field, c)
	if d.Faults() > before {
		return
	}
	if _, err := osmfile.ParseCode(string(*c)); err != nil {
		d.Fault(n.Line, field, yamltree.Found(yamltree.Quoted(string(*c)), yamltree.OneOf(codes()...)))
	}
}

// codes returns the codes of all problems.
func codes() (names []string) {
	for _, c := range osmfile.Codes() {
		names = append(names, string(c))
	}
	return names
}

func decodeText[T ~string](d *yamltree.Decoder, n *yaml.Node, field string, to *T) {
	var s string
	if n.Kind == yaml.ScalarNode && n.Value == "" || yamltree.IsNull(n) {
		d.Fault(n.Line, field, phrase.Of("smfile.no-value"))
		return
	}
	d.Value(n, &s, field)
	*to = T(s)
}

// in returns the path relative to dir; an empty path stays empty.
func (p path) in(dir string) string {
	if p == "" || filepath.IsAbs(string(p)) {
		return string(p)
	}
	return filepath.Join(dir, string(p))
}

// opensm is the section of an OpenSM, as written in the file.
type opensm struct {
	Options    path     `json:"options" want:"smfile.want-options"`
	Partitions path     `json:"partitions" want:"smfile.want-partitions"`
	Policy     path     `json:"policy"`
	Unit       text     `json:"unit"`
	PIDFile    path     `json:"pid_file"`
	Leave      []string `json:"leave" of:"options,policy,lanes"`
	Accept     []code   `json:"accept"`
	Members    string   `json:"members" of:"all,attached"`
	IPoIB      *bool    `json:"ipoib"`
	StopCC     bool     `json:"stop_congestion_control"`
}

// checked returns the section with absolute paths. It reports keys that exclude or need each other.
func (o *opensm) checked(d *yamltree.Decoder, dir string) *OpenSM {
	out := &OpenSM{
		Options: o.Options.in(dir), Partitions: o.Partitions.in(dir), Policy: o.Policy.in(dir), Unit: string(o.Unit), PIDFile: o.PIDFile.in(dir),
		LeaveOptions: slices.Contains(o.Leave, "options"), LeavePolicy: slices.Contains(o.Leave, "policy"), LeaveLanes: slices.Contains(o.Leave, "lanes"),
		AllMembers: o.Members == "all", NoIPoIB: o.IPoIB != nil && !*o.IPoIB, StopCC: o.StopCC,
	}
	for _, c := range o.Accept {
		out.Accept = append(out.Accept, osmfile.Code(c))
	}
	// If two of these files were the same, one would overwrite the other.
	files := []struct{ key, file string }{{"options", out.Options}, {"partitions", out.Partitions}, {"policy", out.Policy}, {"pid_file", out.PIDFile}}
	for i, f := range files {
		for _, g := range files[:i] {
			if f.file != "" && g.file != "" && filepath.Clean(f.file) == filepath.Clean(g.file) {
				d.FaultAt("opensm."+f.key, phrase.Of("smfile.same-file", "key", g.key))
			}
		}
	}
	switch {
	case o.Unit != "" && !isUnit(out.Unit):
		d.FaultAt("opensm.unit", yamltree.Found(yamltree.Quoted(out.Unit), phrase.Of("smfile.want-unit")))
	case o.Unit != "" && o.PIDFile != "":
		d.FaultAt("opensm", phrase.Of("smfile.unit-and-pid"))
	case o.Unit == "" && o.PIDFile == "" && !d.Faulty("opensm.unit") && !d.Faulty("opensm.pid_file"):
		d.Fault(d.Line("opensm"), "opensm.pid_file", yamltree.Missing(phrase.Of("smfile.want-pid-file")))
	}
	return out
}

// ufm is the section of a UFM, as written in the file.
type ufm struct {
	URL          text     `json:"url" want:"smfile.want-url"`
	TokenFile    path     `json:"token_file"`
	User         text     `json:"user"`
	PasswordFile path     `json:"password_file"`
	CAFile       path     `json:"ca_file"`
	Accept       []string `json:"accept" of:"service-levels"`
}

// checked returns the section with absolute paths. It reports keys that exclude or need each other.
func (u *ufm) checked(d *yamltree.Decoder, dir string) *UFM {
	switch {
	case u.TokenFile != "" && (u.User != "" || u.PasswordFile != ""):
		d.FaultAt("ufm", phrase.Of("smfile.token-and-user"))
	case u.TokenFile == "" && u.User == "" && !d.Faulty("ufm.user") && !d.Faulty("ufm.token_file"):
		d.FaultAt("ufm.token_file", yamltree.Missing(phrase.Of("smfile.want-token")))
	case u.User != "" && u.PasswordFile == "" && !d.Faulty("ufm.password_file"):
		d.FaultAt("ufm.password_file", yamltree.Missing(phrase.Of("smfile.want-password")))
	}
	return &UFM{
		URL: string(u.URL), TokenFile: u.TokenFile.in(dir), User: string(u.User), PasswordFile: u.PasswordFile.in(dir), CAFile: u.CAFile.in(dir),
		AcceptSLs: len(u.Accept) > 0,
	}
}

var unitName = regexp.MustCompile(`^[A-Za-z0-9:_.@\\-]{1,240}\.service$`)

func isUnit(s string) bool { return unitName.MatchString(s) && !strings.HasPrefix(s, "-") }
