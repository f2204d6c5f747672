// Package doctor checks what the service needs: its configuration and the files that it names, the store, clocks, series,
// fabrics, subnet managers, certificates, other managers. It changes nothing. The command `fairlane doctor` runs all
// checks; the service runs those that make sense inside it.
package doctor

import (
	"context"
	"errors"
	"strings"
	"time"

	"fairlane/internal/phrase"
	"fairlane/service/config"
	"fairlane/service/control"
	"fairlane/service/placement"
	"fairlane/service/setup"
	"fairlane/subnet/opensm"
	"fairlane/subnet/umad"
)

// checkTimeout is the time limit of each group of checks.
const checkTimeout = 20 * time.Second

// Options of an examination.
type Options struct {
	Callback string // path at which the API takes the answers of an OpenID provider
	URL      string // of the running service; empty: the first address of the configuration
	Inside   bool   // the service examines itself: it is not queried over HTTP, and a SQLite file is not read as a whole
	// Peers returns the other managers that announce themselves; nil: there are none.
	Peers func(context.Context) ([]Peer, error)
}

// doctor collects findings.
type doctor struct {
	config   *config.Config
	url      string // of the running service
	inside   bool
	opensm   string // OpenSM's options file
	managers placement.Managers
	umad     umad.Options
	findings []control.DoctorFinding
	now      func() time.Time
}

// note adds a finding. A warning or a fault has a remedy.
func (d *doctor) note(check, subject string, status control.DoctorStatus, found phrase.Text, remedy ...phrase.Text) {
	f := control.DoctorFinding{Check: check, Subject: subject, Status: status, Code: strings.TrimPrefix(found.ID, "doctor."), Found: found}
	if len(remedy) > 0 {
		f.Do = remedy[0]
	}
	d.findings = append(d.findings, f)
}

// WrongConfig is the finding about a configuration that cannot be read; path is its file, or empty.
func WrongConfig(path string, err error) control.DoctorFinding {
	d := &doctor{}
	d.note("config", path, control.DoctorFault, phrase.Of("doctor.config-wrong", "error", err), phrase.Of("doctor.config-wrong.do"))
	return d.findings[0]
}

// Examine runs all checks of a configuration, which was read from the file path. A failed check does not prevent
// independent ones.
func Examine(ctx context.Context, c *config.Config, path string, o Options) []control.DoctorFinding {
	d := &doctor{config: c, url: o.URL, inside: o.Inside, opensm: opensm.DefaultOptions, now: time.Now}
	material, faults := setup.Read(c, o.Callback, nil)
	d.managers = material.Site.Managers
	if err := errors.Join(faults...); err != nil {
		d.note("config", path, control.DoctorFault, phrase.Of("doctor.config-files", "error", err), phrase.Of("doctor.config-files.do"))
	} else {
		d.note("config", path, control.DoctorOK, phrase.Of("doctor.config-right"))
	}
	series := func(ctx context.Context) { d.series(ctx, material.Series) }
	checks := []func(context.Context){d.keys, d.tls, d.store, d.seriesSpace, series}
	if o.Inside {
		checks = append(checks, func(ctx context.Context) { d.peers(ctx, o.Peers, material.PeerTLS) }, d.builtPortal)
	} else {
		checks = append(checks, d.service, d.builtPortal)
	}
	for _, check := range checks {
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		check(ctx)
		cancel()
	}
	return d.findings
}
