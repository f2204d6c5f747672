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

	"fairlane/internal/phrase"
)

// SourceRule is one entry of discovery.sources: sources of fabrics that clients of the API may name.
type SourceRule struct {
	kind string // one of sourceKinds
	// rest is the text after the kind: a whole source or, if open is set, a prefix. For paths with open set it is a
	// folder.
	rest       string
	open       bool
	host, port string // of ibsim:udp; "*" is any
}

// Kinds of sources, as the prefix of their text.
const (
	KindUMAD     = "umad:"
	KindUnix     = "ibsim:unix:"
	KindUDP      = "ibsim:udp:"
	KindEthernet = "ethernet:"
	KindFile     = "file:"
)

func sourceKinds() []string { return []string{KindUMAD, KindUnix, KindUDP, KindEthernet, KindFile} }

// DefaultSources returns the rules of a service with none configured: ports and simulated fabrics of this machine, and
// files below the service's working directory and below /etc/fairlane.
func DefaultSources() []string {
	return []string{"umad:*", "ibsim:unix:*", "ibsim:udp:127.0.0.1:*", "ibsim:udp:[::1]:*", "ibsim:udp:localhost:*",
		"ethernet:./*", "ethernet:/etc/fairlane/*", "file:./*", "file:/etc/fairlane/*"}
}

// CutSource splits a source into its kind and the rest; ok is false for an invalid source. ibsim:NAME is short for
// ibsim:unix:NAME.
func CutSource(s string) (kind, rest string, ok bool) {
	name, short := strings.CutPrefix(s, "ibsim:")
	if short && !strings.Contains(name, ":") && name != "" && name != "unix" && name != "udp" { // "unix" and "udp" lack their address
		s = KindUnix + name
	}
	for _, kind := range sourceKinds() {
		if rest, ok := strings.CutPrefix(s, kind); ok && rest != "" && !strings.ContainsRune(rest, 0) {
			return kind, rest, true
		}
	}
	return "", "", false
}

// ParseSourceRule parses an entry of discovery.sources.
func ParseSourceRule(s string) (SourceRule, error) {
	bad := func() (SourceRule, error) {
		return SourceRule{}, found(strconv.Quote(s), phrase.Of("config.want-source-rule"))
	}
	kind, rest, ok := CutSource(s)
	if !ok {
		return bad()
	}
	r := SourceRule{kind: kind, rest: rest}
	if kind == KindUDP {
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
		return bad() // a prefix of a name would be taken for a folder
	}
	return r, nil
}

func isSourceRule(s string) error {
	_, err := ParseSourceRule(s)
	return err
}

func (r *SourceRule) path() bool { return r.kind == KindEthernet || r.kind == KindFile }

// SourceRules are all entries of discovery.sources.
type SourceRules struct {
	rules []SourceRule
	texts []string
}

// NewSourceRules parses the entries of discovery.sources.
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

// Check rejects a source that no rule allows. It opens no file, so its result does not reveal whether one exists. Nil
// rules allow everything.
func (l *SourceRules) Check(source string) error {
	if l == nil {
		return nil
	}
	kind, rest, ok := CutSource(source)
	if ok && slices.ContainsFunc(l.rules, func(r SourceRule) bool { return r.kind == kind && r.allows(rest) }) {
		return nil
	}
	if kind == KindUDP {
		if _, _, err := net.SplitHostPort(rest); err != nil {
			return phrase.Because(errors.Join(ErrSource, err), phrase.Of("config.source-udp", "source", fmt.Sprintf("%.200q", source), "reason", err))
		}
	}
	allowed := phrase.Of("none")
	if len(l.texts) > 0 {
		allowed = phrase.Of("list.whole", "list", l.texts)
	}
	return phrase.Because(ErrSource, phrase.Of("config.source", "source", fmt.Sprintf("%.200q", source), "allowed", allowed))
}

// ErrSource reports a source that the service's configuration does not allow.
var ErrSource = errors.New("source not allowed")

// errOutside reports a path that leaves the allowed folders through a symbolic link.
var errOutside = fault(phrase.Of("config.source-outside"))

// Resolve is Check for a source that is about to be opened. For a file it returns the source with all symbolic links
// resolved, and fails if that path is not allowed. It returns a path that is missing or cannot be resolved unchanged:
// opening it then fails with the reason.
func (l *SourceRules) Resolve(source string) (string, error) {
	if err := l.Check(source); err != nil || l == nil {
		return source, err
	}
	kind, rest, _ := CutSource(source)
	if kind != KindEthernet && kind != KindFile {
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

// resolved returns the rule with the symbolic links in its own path resolved: the operator allows the folder that the
// path leads to.
func (r SourceRule) resolved() *SourceRule {
	if real, err := filepath.EvalSymlinks(r.rest); err == nil && r.rest != "" {
		if r.rest = real; r.open {
			r.rest += "/"
		}
	}
	return &r
}

// allows checks the text after the kind of a source, without file access.
func (r *SourceRule) allows(rest string) bool {
	switch {
	case r.kind == KindUDP:
		host, port, err := net.SplitHostPort(rest)
		return err == nil && (r.host == "*" || sameHost(r.host, host)) && (r.port == "*" || r.port == port)
	case !r.path():
		return rest == r.rest || r.open && strings.HasPrefix(rest, r.rest)
	case r.open && r.rest == "":
		return true
	}
	path, err := filepath.Abs(rest) // Abs also cleans the path
	folder, err2 := filepath.Abs(r.rest)
	switch {
	case err != nil || err2 != nil:
		return false
	case !r.open:
		return path == folder
	case folder == "/": // with "./*" in a service that runs in /, not all files are allowed; "file:*" allows them
		return false
	}
	return strings.HasPrefix(path, folder+"/")
}

// sameHost reports whether two hosts have the same name or IP address. It does not resolve names, since their addresses
// may change.
func sameHost(a, b string) bool {
	x, err := netip.ParseAddr(a)
	y, err2 := netip.ParseAddr(b)
	if err == nil && err2 == nil {
		return x.Unmap() == y.Unmap()
	}
	return err != nil && err2 != nil && strings.EqualFold(a, b)
}
