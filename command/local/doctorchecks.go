package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"fairlane/internal/buildinfo"
	"fairlane/internal/loopback"
	"fairlane/internal/servertls"
	"fairlane/service/config"
	"fairlane/service/series/embedded"
	"fairlane/service/site"
	"fairlane/service/store"
	"fairlane/web"
)

// Limits between statuses.
const (
	clockWarn, clockFail = time.Second, 10 * time.Second
	certificateWarn      = 30 * 24 * time.Hour
	spaceWarn, spaceFail = 1 << 30, 64 << 20 // free bytes on the file system of a SQLite file
	jobWait              = 5 * time.Minute   // maximum time of a job in the queue
)

// keys checks who can read the files with secrets.
func (d *doctor) keys(context.Context) {
	c := &d.config.Config
	paths := []string{c.AdminTokenFile, c.CCKeyFile, c.MKeyFile, c.DatabasePasswordFile, c.TLS.KeyFile, c.OIDC.ClientSecretFile,
		c.Receivers.WebhookKeyFile, c.Receivers.Mail.PasswordFile, c.AuditExport.KeyFile, c.Series.TokenFile}
	for _, name := range slices.Sorted(maps.Keys(d.managers)) {
		if u := d.managers[name].UFM; u != nil {
			paths = append(paths, u.TokenFile, u.PasswordFile)
		}
	}
	for _, path := range paths {
		if path == "" {
			continue
		}
		st, err := os.Stat(path)
		switch {
		case err != nil: // the configuration check has reported it
		case st.Mode().Perm()&0o077 != 0:
			d.note("keys", path, statusWarn, "key-open", "mode", fmt.Sprintf("%04o", st.Mode().Perm()), "path", path)
		default:
			d.note("keys", path, statusOK, "key-closed", "mode", fmt.Sprintf("%04o", st.Mode().Perm()))
		}
	}
}

// tls checks the certificate, and which listeners have none.
func (d *doctor) tls(context.Context) {
	c := &d.config.Config
	if c.TLS.CertFile == "" {
		if far := farAddress(c.Listen); far != "" {
			d.note("tls", far, statusWarn, "tls-none")
		}
	} else if end, names, err := servertls.Expiry(c.TLS.CertFile, c.TLS.KeyFile); err == nil { // otherwise the configuration check has reported it
		left := end.Sub(d.now())
		day := end.UTC().Format(time.DateOnly)
		switch {
		case left <= 0:
			d.note("tls", c.TLS.CertFile, statusFail, "tls-expired", "until", day)
		case left < certificateWarn:
			d.note("tls", c.TLS.CertFile, statusWarn, "tls-soon", "until", day, "days", int(left.Hours()/24))
		default:
			d.note("tls", c.TLS.CertFile, statusOK, "tls-right", "until", day, "names", strings.Join(names, ", "))
		}
	}
	if far := farAddress(c.Operations.Listen); far != "" {
		d.note("tls", far, statusWarn, "operations-open")
	}
}

// farAddress returns the first address that other machines can reach, "" if there is none.
func farAddress(addresses []string) string {
	for _, a := range addresses {
		if strings.HasPrefix(a, "unix:") {
			continue
		}
		if host, _, err := net.SplitHostPort(a); err == nil && !loopback.Is(host) {
			return a
		}
	}
	return ""
}

// store checks the database and then its contents: clock, fabrics, jobs.
func (d *doctor) store(ctx context.Context) {
	shown := config.ShownDatabase(d.config.Database)
	database, err := config.DatabaseURL(&d.config.Config)
	if err != nil {
		return // the configuration check has reported it
	}
	if !store.IsPostgres(database) {
		if err := store.CheckPath(database); err != nil {
			d.note("store", shown, statusFail, "store-path", "error", err)
			return
		}
		if !d.space(database) {
			return
		}
	}
	n, err := store.ReadSurvey(ctx, database)
	surveyed := err == nil
	if surveyed {
		err = d.pages(ctx, shown, database)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.note("store", shown, statusOK, "store-absent")
	case store.IsDamage(err):
		d.note("store", shown, statusFail, "store-damaged", "error", err)
	case err != nil:
		d.note("store", shown, statusFail, "store-away", "error", err)
	case n.Have > n.Know:
		d.note("store", shown, statusFail, "store-newer", "have", n.Have, "know", n.Know)
	case n.Have < n.Know:
		d.note("store", shown, statusWarn, "store-older", "have", n.Have, "know", n.Know)
	default:
		d.note("store", shown, statusOK, "store-right", "engine", n.Engine, "version", n.Have)
	}
	if !surveyed {
		return
	}
	d.clock(&n)
	d.jobs(&n)
	d.holds(n.Fabrics)
	key, err := site.CCKey(d.config.CCKeyFile)
	owner, wrong := site.MKey(d.config.MKeyFile)
	if err != nil || wrong != nil {
		return // the configuration check has reported it
	}
	d.subnetManagers(ctx, n.Fabrics)
	for _, f := range n.Fabrics {
		d.fabric(ctx, f, key, owner)
	}
}

// pagesTimeout limits the search for damaged pages: half of the time of its group of checks.
const pagesTimeout = checkTimeout / 2

// pages searches a SQLite file for damaged pages. It returns the file's faults, and adds a note if the time did not
// suffice for all of it.
func (d *doctor) pages(ctx context.Context, shown, database string) error {
	ctx, cancel := context.WithTimeout(ctx, pagesTimeout)
	defer cancel()
	err := store.CheckPages(ctx, database)
	if err != nil && ctx.Err() != nil && !store.IsDamage(err) {
		d.note("store", shown, statusSkip, "store-unchecked")
		return nil
	}
	return err
}

// holds reports fabrics on which automatic repairs are on hold since the database was restored.
func (d *doctor) holds(fabrics []store.FabricSource) {
	for _, f := range fabrics {
		if !f.RestoredAt.IsZero() {
			d.note("fabric", f.Name, statusWarn, "repairs-wait", "name", f.Name, "at", f.RestoredAt.UTC().Format(time.DateTime))
		}
	}
}

// space checks the free space on the file system of a SQLite file, which its journal needs too. It reports whether the directory is
// usable.
func (d *doctor) space(path string) bool {
	var st syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(path), &st); err != nil {
		d.note("store", path, statusFail, "store-directory", "error", err, "path", filepath.Dir(path))
		return false
	}
	d.room(path, int64(st.Bavail)*st.Bsize)
	return true
}

// room rates the free bytes on the file system of a database.
func (d *doctor) room(path string, free int64) {
	mib := free >> 20
	switch {
	case free < spaceFail:
		d.note("store", path, statusFail, "space-none", "mib", mib)
	case free < spaceWarn:
		d.note("store", path, statusWarn, "space-little", "mib", mib)
	default:
		d.note("store", path, statusOK, "space-right", "mib", mib)
	}
}

// clock compares this machine's time with the database's.
func (d *doctor) clock(n *store.Survey) {
	if n.Clock.IsZero() {
		d.note("clock", "", statusOK, "clock-own")
		return
	}
	d.skew("database", d.now().Add(-n.Took/2).Sub(n.Clock))
}

// series checks whether the server that has the series gives them.
func (d *doctor) series(ctx context.Context, o embedded.ExternalOptions) {
	if o.URL == "" {
		return
	}
	e, err := embedded.OpenExternal(o)
	if err == nil {
		err = errors.Join(e.Check(ctx), e.Close())
	}
	if err != nil {
		d.note("series", o.URL, statusFail, "series-away", "error", err)
		return
	}
	d.note("series", o.URL, statusOK, "series-right")
}

// skew rates a difference of clocks.
func (d *doctor) skew(subject string, by time.Duration) {
	text := by.Round(time.Millisecond).String()
	switch by = by.Abs(); {
	case by > clockFail:
		d.note("clock", subject, statusFail, "clock-wrong", "by", text)
	case by > clockWarn:
		d.note("clock", subject, statusWarn, "clock-skew", "by", text)
	default:
		d.note("clock", subject, statusOK, "clock-right", "by", text)
	}
}

// jobs checks the queue.
func (d *doctor) jobs(n *store.Survey) {
	if n.Jobs == nil {
		d.note("jobs", "", statusOK, "jobs-none")
		return
	}
	waits := time.Duration(0)
	if !n.OldestJob.IsZero() {
		waits = d.now().Sub(n.OldestJob)
	}
	led := n.Leader != "" && n.LeaderUntil.After(d.now())
	switch {
	case waits > jobWait && !led:
		d.note("jobs", "", statusFail, "jobs-unworked", "waits", waits.Round(time.Second), "available", n.Jobs["available"])
	case waits > jobWait:
		d.note("jobs", "", statusWarn, "jobs-late", "waits", waits.Round(time.Second), "available", n.Jobs["available"])
	case n.Jobs["discarded"] > 0:
		d.note("jobs", "", statusWarn, "jobs-discarded", "discarded", n.Jobs["discarded"])
	case !led:
		d.note("jobs", "", statusSkip, "jobs-no-leader", "available", n.Jobs["available"])
	default:
		d.note("jobs", "", statusOK, "jobs-right", "available", n.Jobs["available"], "leader", n.Leader)
	}
}

// service queries the running service, if there is one.
func (d *doctor) service(ctx context.Context) {
	base := d.serviceURL()
	if base == "" {
		return
	}
	client := &http.Client{Timeout: 5 * time.Second}
	begun := d.now()
	status, _, date, err := fetch(ctx, client, base+"/api/v1/ready")
	if err != nil {
		d.note("service", base, statusSkip, "service-away", "error", err)
		return
	}
	took := d.now().Sub(begun)
	if status != http.StatusOK {
		d.note("service", base, statusFail, "service-not-ready", "status", status)
	}
	_, body, _, err := fetch(ctx, client, base+"/api/v1/version")
	var v struct {
		Version string `json:"version"`
	}
	switch {
	case err != nil || json.Unmarshal(body, &v) != nil || v.Version == "":
		d.note("service", base, statusFail, "service-other")
		return
	case v.Version != buildinfo.Version():
		d.note("service", base, statusWarn, "service-version", "theirs", v.Version, "ours", buildinfo.Version())
	case status == http.StatusOK:
		d.note("service", base, statusOK, "service-right", "version", v.Version)
	}
	if at, err := http.ParseTime(date); err == nil {
		// The Date header has whole seconds. The best estimate adds half a second, and takes the middle of the round
		// trip.
		if by := begun.Add(took / 2).Sub(at.Add(time.Second / 2)); by.Abs() > clockWarn {
			d.skew("service", by)
		}
	}
}

// builtPortal reports whether this program contains the portal.
func (d *doctor) builtPortal(context.Context) {
	site, err := web.Embedded()
	d.portal(site, err)
}

func (d *doctor) portal(site *web.Site, err error) {
	switch {
	case err != nil:
		d.note("portal", "", statusFail, "portal-damaged", "error", err)
	case !site.Built():
		d.note("portal", "", statusSkip, "portal-absent")
	default:
		d.note("portal", "", statusOK, "portal-right", "hash", site.Hash())
	}
}

// serviceURL returns the address of the running service: the one given, or the first of the configuration.
func (d *doctor) serviceURL() string {
	for _, u := range []string{d.url, os.Getenv("FAIRLANE_URL")} {
		if u != "" {
			return strings.TrimRight(u, "/")
		}
	}
	for _, a := range d.config.Listen {
		if strings.HasPrefix(a, "unix:") {
			continue
		}
		host, port, err := net.SplitHostPort(a)
		if err != nil {
			continue
		}
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			host = "127.0.0.1"
		}
		scheme := "http"
		if d.config.TLS.CertFile != "" {
			scheme = "https"
		}
		return scheme + "://" + net.JoinHostPort(host, port)
	}
	return ""
}

// fetch requests a small document.
func fetch(ctx context.Context, c *http.Client, url string) (status int, body []byte, date string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, "", err
	}
	resp, err := c.Do(r)
	if err != nil {
		return 0, nil, "", err
	}
	defer func() { _ = resp.Body.Close() }() // the body was read up to its limit
	body, err = io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	return resp.StatusCode, body, resp.Header.Get("Date"), err
}
