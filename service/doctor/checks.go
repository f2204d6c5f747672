package doctor

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
	"fairlane/internal/phrase"
	"fairlane/internal/servertls"
	"fairlane/service/config"
	"fairlane/service/control"
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
	c := d.config
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
			d.note("keys", path, control.DoctorWarning, phrase.Of("doctor.key-open", "mode", fmt.Sprintf("%04o", st.Mode().Perm())), phrase.Of("doctor.key-open.do", "path", path))
		default:
			d.note("keys", path, control.DoctorOK, phrase.Of("doctor.key-closed", "mode", fmt.Sprintf("%04o", st.Mode().Perm())))
		}
	}
}

// tls checks the certificate, and which listeners have none.
func (d *doctor) tls(context.Context) {
	c := d.config
	if c.TLS.CertFile == "" {
		if far := farAddress(c.Listen); far != "" {
			d.note("tls", far, control.DoctorWarning, phrase.Of("doctor.tls-none"), phrase.Of("doctor.tls-none.do"))
		}
	} else if end, names, err := servertls.Expiry(c.TLS.CertFile, c.TLS.KeyFile); err == nil { // otherwise the configuration check has reported it
		left := end.Sub(d.now())
		day := end.UTC().Format(time.DateOnly)
		switch {
		case left <= 0:
			d.note("tls", c.TLS.CertFile, control.DoctorFault, phrase.Of("doctor.tls-expired", "until", day), phrase.Of("doctor.tls-expired.do"))
		case left < certificateWarn:
			d.note("tls", c.TLS.CertFile, control.DoctorWarning, phrase.Of("doctor.tls-soon", "until", day, "days", int(left.Hours()/24)), phrase.Of("doctor.tls-soon.do"))
		default:
			d.note("tls", c.TLS.CertFile, control.DoctorOK, phrase.Of("doctor.tls-right", "until", day, "names", strings.Join(names, ", ")))
		}
	}
	if far := farAddress(c.Operations.Listen); far != "" {
		d.note("tls", far, control.DoctorWarning, phrase.Of("doctor.operations-open"), phrase.Of("doctor.operations-open.do"))
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
	database, err := config.DatabaseURL(d.config)
	if err != nil {
		return // the configuration check has reported it
	}
	if !store.IsPostgres(database) {
		if err := store.CheckPath(database); err != nil {
			d.note("store", shown, control.DoctorFault, phrase.Of("doctor.store-path", "error", err), phrase.Of("doctor.store-path.do"))
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
		d.note("store", shown, control.DoctorOK, phrase.Of("doctor.store-absent"))
	case store.IsDamage(err):
		d.note("store", shown, control.DoctorFault, phrase.Of("doctor.store-damaged", "error", err), phrase.Of("doctor.store-damaged.do"))
	case err != nil:
		d.note("store", shown, control.DoctorFault, phrase.Of("doctor.store-away", "error", err), phrase.Of("doctor.store-away.do"))
	case n.Have > n.Know:
		d.note("store", shown, control.DoctorFault, phrase.Of("doctor.store-newer", "have", n.Have, "know", n.Know), phrase.Of("doctor.store-newer.do"))
	case n.Have < n.Know:
		d.note("store", shown, control.DoctorWarning, phrase.Of("doctor.store-older", "have", n.Have, "know", n.Know), phrase.Of("doctor.store-older.do"))
	default:
		d.note("store", shown, control.DoctorOK, phrase.Of("doctor.store-right", "engine", n.Engine, "version", n.Have))
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
	if d.inside {
		return nil // reading all of the file takes long, and the service may be asked often
	}
	ctx, cancel := context.WithTimeout(ctx, pagesTimeout)
	defer cancel()
	err := store.CheckPages(ctx, database)
	if err != nil && ctx.Err() != nil && !store.IsDamage(err) {
		d.note("store", shown, control.DoctorUnknown, phrase.Of("doctor.store-unchecked"))
		return nil
	}
	return err
}

// holds reports fabrics on which automatic repairs are on hold since the database was restored.
func (d *doctor) holds(fabrics []store.FabricSource) {
	for _, f := range fabrics {
		if !f.RestoredAt.IsZero() {
			d.note("fabric", f.Name, control.DoctorWarning, phrase.Of("doctor.repairs-wait", "at", f.RestoredAt.UTC().Format(time.DateTime)), phrase.Of("doctor.repairs-wait.do", "name", f.Name))
		}
	}
}

// space checks the free space on the file system of a SQLite file, which its journal needs too. It reports whether the directory is
// usable.
func (d *doctor) space(path string) bool {
	var st syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(path), &st); err != nil {
		d.note("store", path, control.DoctorFault, phrase.Of("doctor.store-directory", "error", err), phrase.Of("doctor.store-directory.do", "path", filepath.Dir(path)))
		return false
	}
	d.room(path, int64(st.Bavail)*st.Bsize)
	return true
}

// seriesSpace checks the free space for series.
func (d *doctor) seriesSpace(context.Context) {
	folder := d.config.Series.Folder(d.config.Database)
	if folder == "" {
		return
	}
	var st syscall.Statfs_t
	if err := syscall.Statfs(folder, &st); err != nil {
		if !errors.Is(err, fs.ErrNotExist) { // the first start creates it
			d.note("series", folder, control.DoctorFault, phrase.Of("doctor.series-directory", "error", err), phrase.Of("doctor.series-directory.do", "path", folder))
		}
		return
	}
	d.seriesRoom(folder, int64(st.Bavail)*st.Bsize)
}

// seriesRoom rates the free bytes on the file system of the series.
func (d *doctor) seriesRoom(folder string, free int64) {
	mib := free >> 20
	switch {
	case free < spaceFail:
		d.note("series", folder, control.DoctorFault, phrase.Of("doctor.series-space-none", "mib", mib), phrase.Of("doctor.series-space-none.do"))
	case free < spaceWarn:
		d.note("series", folder, control.DoctorWarning, phrase.Of("doctor.series-space-little", "mib", mib), phrase.Of("doctor.series-space-little.do"))
	default:
		d.note("series", folder, control.DoctorOK, phrase.Of("doctor.series-space-right", "mib", mib))
	}
}

// room rates the free bytes on the file system of a database.
func (d *doctor) room(path string, free int64) {
	mib := free >> 20
	switch {
	case free < spaceFail:
		d.note("store", path, control.DoctorFault, phrase.Of("doctor.space-none", "mib", mib), phrase.Of("doctor.space-none.do"))
	case free < spaceWarn:
		d.note("store", path, control.DoctorWarning, phrase.Of("doctor.space-little", "mib", mib), phrase.Of("doctor.space-little.do"))
	default:
		d.note("store", path, control.DoctorOK, phrase.Of("doctor.space-right", "mib", mib))
	}
}

// clock compares this machine's time with the database's.
func (d *doctor) clock(n *store.Survey) {
	if n.Clock.IsZero() {
		d.note("clock", "", control.DoctorOK, phrase.Of("doctor.clock-own"))
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
		d.note("series", o.URL, control.DoctorFault, phrase.Of("doctor.series-away", "error", err), phrase.Of("doctor.series-away.do"))
		return
	}
	d.note("series", o.URL, control.DoctorOK, phrase.Of("doctor.series-right"))
}

// skew rates a difference of clocks.
func (d *doctor) skew(subject string, by time.Duration) {
	text := by.Round(time.Millisecond).String()
	switch by = by.Abs(); {
	case by > clockFail:
		d.note("clock", subject, control.DoctorFault, phrase.Of("doctor.clock-wrong", "by", text), phrase.Of("doctor.clock-wrong.do"))
	case by > clockWarn:
		d.note("clock", subject, control.DoctorWarning, phrase.Of("doctor.clock-skew", "by", text), phrase.Of("doctor.clock-skew.do"))
	default:
		d.note("clock", subject, control.DoctorOK, phrase.Of("doctor.clock-right", "by", text))
	}
}

// jobs checks the queue.
func (d *doctor) jobs(n *store.Survey) {
	if n.Jobs == nil {
		d.note("jobs", "", control.DoctorOK, phrase.Of("doctor.jobs-none"))
		return
	}
	waits := time.Duration(0)
	if !n.OldestJob.IsZero() {
		waits = d.now().Sub(n.OldestJob)
	}
	led := n.Leader != "" && n.LeaderUntil.After(d.now())
	switch {
	case waits > jobWait && !led:
		d.note("jobs", "", control.DoctorFault, phrase.Of("doctor.jobs-unworked", "waits", waits.Round(time.Second).String(), "available", n.Jobs["available"]), phrase.Of("doctor.jobs-unworked.do"))
	case waits > jobWait:
		d.note("jobs", "", control.DoctorWarning, phrase.Of("doctor.jobs-late", "waits", waits.Round(time.Second).String(), "available", n.Jobs["available"]), phrase.Of("doctor.jobs-late.do"))
	case n.Jobs["discarded"] > 0:
		d.note("jobs", "", control.DoctorWarning, phrase.Of("doctor.jobs-discarded", "discarded", n.Jobs["discarded"]), phrase.Of("doctor.jobs-discarded.do"))
	case !led:
		d.note("jobs", "", control.DoctorUnknown, phrase.Of("doctor.jobs-no-leader", "available", n.Jobs["available"]))
	default:
		d.note("jobs", "", control.DoctorOK, phrase.Of("doctor.jobs-right", "available", n.Jobs["available"], "leader", n.Leader))
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
		d.note("service", base, control.DoctorUnknown, phrase.Of("doctor.service-away", "error", err))
		return
	}
	took := d.now().Sub(begun)
	if status != http.StatusOK {
		d.note("service", base, control.DoctorFault, phrase.Of("doctor.service-not-ready", "status", status), phrase.Of("doctor.service-not-ready.do"))
	}
	_, body, _, err := fetch(ctx, client, base+"/api/v1/version")
	var v struct {
		Version string `json:"version"`
	}
	switch {
	case err != nil || json.Unmarshal(body, &v) != nil || v.Version == "":
		d.note("service", base, control.DoctorFault, phrase.Of("doctor.service-other"), phrase.Of("doctor.service-other.do"))
		return
	case v.Version != buildinfo.Version():
		d.note("service", base, control.DoctorWarning, phrase.Of("doctor.service-version", "theirs", v.Version, "ours", buildinfo.Version()), phrase.Of("doctor.service-version.do"))
	case status == http.StatusOK:
		d.note("service", base, control.DoctorOK, phrase.Of("doctor.service-right", "version", v.Version))
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
		d.note("portal", "", control.DoctorFault, phrase.Of("doctor.portal-damaged", "error", err), phrase.Of("doctor.portal-damaged.do"))
	case !site.Built():
		d.note("portal", "", control.DoctorUnknown, phrase.Of("doctor.portal-absent"))
	default:
		d.note("portal", "", control.DoctorOK, phrase.Of("doctor.portal-right", "hash", site.Hash()))
	}
}

// serviceURL returns the address of the running service: the one given, or the first of the configuration.
func (d *doctor) serviceURL() string {
	if d.url != "" {
		return strings.TrimRight(d.url, "/")
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
