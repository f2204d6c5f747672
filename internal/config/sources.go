package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// SourceRule is one entry of discovery.sources: sources of fabrics that clients of the API may name.
type SourceRule struct {
	kind string // as sourceKinds has it
	// rest is what follows: the whole, a beginning when open is set, or, of paths with open set, a folder.
	rest       string
	open       bool
	host, port string // of ibsim:udp; "*" is any
}

// Kinds of sources.
const (
	kindUmad     = "umad:"
	kindUnix     = "ibsim:unix:"
	kindUDP      = "ibsim:udp:"
	kindEthernet = "ethernet:"
	kindFile     = "file:"
)

func sourceKinds() []string { return []string{kindUmad, kindUnix, kindUDP, kindEthernet, kindFile} }

const sourceRuleForms = "umad:CA:PORT, ibsim:unix:NAME, ibsim:udp:HOST:PORT, ethernet:PATH or file:PATH, where umad:*, ibsim:unix:lab-*, ibsim:udp:HOST:* and ethernet:FOLDER/* allow several"

// DefaultSources are the rules of a service that has none of its own: ports and simulated fabrics of this machine, and files below
// the folder that the service runs in and /etc/fairlane.
func DefaultSources() []string {
	return []string{"umad:*", "ibsim:unix:*", "ibsim:udp:127.0.0.1:*", "ibsim:udp:[::1]:*", "ibsim:udp:localhost:*",
		"ethernet:./*", "ethernet:/etc/fairlane/*", "file:./*", "file:/etc/fairlane/*"}
}

// cutSource splits a source into its kind and what follows. ibsim:NAME is short for ibsim:unix:NAME.
func cutSource(s string) (kind, rest string, ok bool) {
	if name, short := strings.CutPrefix(s, "ibsim:"); short && !strings.Contains(name, ":") && name != "" {
		s = kindUnix + name
	}
	for _, kind := range sourceKinds() {
		if rest, ok := strings.CutPrefix(s, kind); ok && rest != "" && !strings.ContainsRune(rest, 0) {
			return kind, rest, true
		}
	}
	return "", "", false
}

// ParseSourceRule reads an entry of discovery.sources.
func ParseSourceRule(s string) (SourceRule, error) {
	bad := func() (SourceRule, error) {
		return SourceRule{}, fmt.Errorf("found %q: want %s", s, sourceRuleForms)
	}
	kind, rest, ok := cutSource(s)
	if !ok {
		return bad()
	}
	r := SourceRule{kind: kind, rest: rest}
	if kind == kindUDP {
		var err error
		if r.host, r.port, err = net.SplitHostPort(rest); err != nil || r.host == "" || r.host != "*" && strings.Contains(r.host, "*") {
			return bad()
		}
		if _, err := strconv.ParseUint(r.port, 10, 16); err != nil && r.port != "*" {
			return bad()
		}
		return r, nil
	}
	if r.rest, r.open = strings.CutSuffix(rest, "*"); strings.Contains(r.rest, "*") {
		return bad()
	}
	if r.path() && r.open && r.rest != "" && !strings.HasSuffix(r.rest, "/") {
		return bad() // a beginning of a name would be read as a folder
	}
	return r, nil
}

func isSourceRule(s string) error {
	_, err := ParseSourceRule(s)
	return err
}

func (r *SourceRule) path() bool { return r.kind == kindEthernet || r.kind == kindFile }

// SourceRules are all entries of discovery.sources.
type SourceRules struct {
	rules []SourceRule
	texts []string
}

// NewSourceRules reads entries of discovery.sources.
func NewSourceRules(list []string) (*SourceRules, error) {
	out := &SourceRules{texts: list}
	var faults []error
	for _, text := range list {
		r, err := ParseSourceRule(text)
		faults = append(faults, err)
		out.rules = append(out.rules, r)
	}
	return out, errors.Join(faults...)
}

// Check refuses a source that no rule allows. It looks at no file, so that its answer is the same whether one is there or not. No
// rules at all, nil, allow everything.
func (l *SourceRules) Check(source string) error {
	if l == nil {
		return nil
	}
	kind, rest, ok := cutSource(source)
	if ok && slices.ContainsFunc(l.rules, func(r SourceRule) bool { return r.kind == kind && r.allows(rest) }) {
		return nil
	}
	allowed := strings.Join(l.texts, ", ")
	if allowed == "" {
		allowed = "none"
	}
	return fmt.Errorf("%w: %.200q is not one that its setting discovery.sources allows: want %s", ErrSource, source, allowed)
}

// ErrSource says that a source is not one that this service may use.
var ErrSource = errors.New("this service may not use the source")

// errOutside says that a path leads out of the folders that are allowed, by a symbolic link.
var errOutside = errors.New("a symbolic link leads out of the folders that discovery.sources allows")

// Resolve is Check for a source that is used now. Of a file it returns the source by the file's own path, with no symbolic link in it,
// and fails when that is not allowed. One that is not there, or cannot be looked up, comes as it is: who opens it says why.
func (l *SourceRules) Resolve(source string) (string, error) {
	if err := l.Check(source); err != nil || l == nil {
		return source, err
	}
	kind, rest, _ := cutSource(source)
	if kind != kindEthernet && kind != kindFile {
		return source, nil
	}
	real, err := filepath.EvalSymlinks(rest)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return source, nil
	}
	if err != nil {
		return source, err
	}
	for i := range l.rules {
		if r := l.rules[i]; r.kind == kind && (r.allows(real) || r.resolved().allows(real)) {
			return kind + real, nil
		}
	}
	return source, errOutside
}

// resolved is the rule with the symbolic links of its own path followed: whoever wrote the rule means what is there.
func (r SourceRule) resolved() *SourceRule {
	if real, err := filepath.EvalSymlinks(r.rest); err == nil && r.rest != "" {
		if r.rest = real; r.open {
			r.rest += "/"
		}
	}
	return &r
}

// allows judges what follows the kind of a source, by the text alone.
func (r *SourceRule) allows(rest string) bool {
	switch {
	case r.kind == kindUDP:
		host, port, err := net.SplitHostPort(rest)
		return err == nil && (r.host == "*" || sameHost(r.host, host)) && (r.port == "*" || r.port == port)
	case !r.path():
		return rest == r.rest || r.open && strings.HasPrefix(rest, r.rest)
	case r.open && r.rest == "":
		return true
	}
	path, err := filepath.Abs(rest) // which cleans it
	folder, err2 := filepath.Abs(r.rest)
	switch {
	case err != nil || err2 != nil:
		return false
	case !r.open:
		return path == folder
	case folder == "/": // a service that runs there has no folder of its own; who means all files writes file:*
		return false
	}
	return strings.HasPrefix(path, folder+"/")
}

// sameHost reports whether two hosts are written alike, or are one IP address. Names are not looked up: what a name means is for
// the one who wrote the rule.
func sameHost(a, b string) bool {
	x, err := netip.ParseAddr(a)
	y, err2 := netip.ParseAddr(b)
	if err == nil && err2 == nil {
		return x.Unmap() == y.Unmap()
	}
	return err != nil && err2 != nil && strings.EqualFold(a, b)
}
