package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"fairlane/internal/buildinfo"
	"fairlane/internal/testkit/filetest"
	"fairlane/internal/testkit/tlstest"
	"fairlane/policy"
	"fairlane/service/config"
	"fairlane/service/control"
	"fairlane/service/placement"
	"fairlane/service/placement/smfile"
	"fairlane/service/rollout/riverwork"
	"fairlane/service/series/embedded"
	"fairlane/service/store"
	"fairlane/service/store/storetest"
	"fairlane/sim/live"
	"fairlane/sim/live/livetest"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/subnettest"
	"fairlane/subnet/ufm/ufmtest"
	"fairlane/subnet/umad"
	"fairlane/subnet/umad/umadtest"
	"fairlane/web"
)

// agents answer the doctor's two queries on a fabric.
type agents struct {
	port    *mad.PortInfo // nil: silent
	manager *mad.SMInfo
}

func (a *agents) Exchange(_ context.Context, to mad.Target, request *mad.Packet) (mad.Packet, error) {
	r := *request
	if directed := to.LID == 0; directed != (request.Class() == mad.ClassSubnDR) {
		return r, fmt.Errorf("class %#x to %v", request.Class(), to)
	}
	r.SetMethod(mad.MethodGetResp)
	switch {
	case request.Attr() == mad.AttrPortInfo && a.port != nil:
		return r, a.port.Encode(r.Data())
	case request.Attr() == mad.AttrSMInfo && a.manager != nil:
		return r, a.manager.Encode(r.Data())
	}
	return r, mad.ErrTimeout
}

// TestEveryFindingIsTriggered produces each finding of the doctor. It fails for a finding in the doctor's source that
// no case triggers, and for one that the source lacks.
func TestEveryFindingIsTriggered(t *testing.T) {
	t.Parallel()
	now := time.Now()
	seen := map[string]control.DoctorFinding{}
	// on runs a check of a doctor with a configuration and collects its findings.
	on := func(want []string, c config.Config, check func(*doctor)) {
		t.Helper()
		if c.Discovery.Sources == nil {
			c.Discovery.Sources = []string{"umad:*", "ibsim:unix:*", "ibsim:udp:*:*", "ethernet:*", "file:*"}
		}
		d := &doctor{config: &c, opensm: "no/such/file", now: func() time.Time { return now }}
		check(d)
		var got []string
		for _, f := range d.findings {
			got = append(got, f.Code)
			seen[f.Code] = f
			found, do := f.Found.String(), f.Do.String()
			if bad := f.Status == control.DoctorWarning || f.Status == control.DoctorFault; bad != (do != "") || found == "" || strings.Contains(found+do, "{") {
				t.Errorf("%s is %s, found %q, do %q", f.Code, f.Status, found, do)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("found %v, want %v", got, want)
		}
	}
	ctx := t.Context()
	open, closed := filetest.Write(t, "open", "x"), filetest.Write(t, "closed", "x")
	if err := errors.Join(os.Chmod(open, 0o640), os.Chmod(closed, 0o600)); err != nil {
		t.Fatal(err)
	}
	on([]string{"key-open"}, config.Config{OIDC: config.OIDC{ClientSecretFile: open}}, func(d *doctor) { d.keys(ctx) })
	on([]string{"key-closed"}, config.Config{CCKeyFile: closed}, func(d *doctor) { d.keys(ctx) })
	certified(t, now, on)
	for free, want := range map[int64]string{1 << 20: "space-none", 900 << 20: "space-little", 8 << 30: "space-right"} {
		on([]string{want}, config.Config{}, func(d *doctor) { d.room("f.db", free) })
	}
	for by, want := range map[time.Duration]string{0: "clock-right", 2 * time.Second: "clock-skew", -time.Minute: "clock-wrong"} {
		on([]string{want}, config.Config{}, func(d *doctor) { d.clock(&store.Survey{Clock: now.Add(by)}) })
	}
	for free, want := range map[int64]string{1 << 20: "series-space-none", 900 << 20: "series-space-little", 8 << 30: "series-space-right"} {
		on([]string{want}, config.Config{}, func(d *doctor) { d.seriesRoom("f.series", free) })
	}
	queues(now, on)
	databases(t, on)
	services(t, on)
	portals(t, on)
	fabrics(t, on)
	held := []store.FabricSource{{Name: "lab"}, {Name: "old", RestoredAt: now}}
	on([]string{"repairs-wait"}, config.Config{}, func(d *doctor) { d.holds(held) })
	devicePorts(t, on)
	withManagers(t, on)
	others(t, on)
	folders(t, on)
	for code := range examined(t) {
		seen[code] = control.DoctorFinding{}
	}
	for _, code := range codesOf(t) {
		if _, ok := seen[code]; !ok {
			t.Errorf("no case triggers %s", code)
		}
	}
}

type onDoctor = func(want []string, c config.Config, check func(*doctor))

func certified(t *testing.T, now time.Time, on onDoctor) {
	t.Helper()
	a := tlstest.New(t)
	for left, want := range map[time.Duration]string{-time.Hour: "tls-expired", 48 * time.Hour: "tls-soon", 90 * 24 * time.Hour: "tls-right"} {
		c := a.Issue("fairlane.test", tlstest.Until(time.Until(now.Add(left))))
		files := config.TLS{CertFile: c.CertFile, KeyFile: c.KeyFile, ClientAuth: "optional"}
		on([]string{want}, config.Config{TLS: files}, func(d *doctor) { d.tls(t.Context()) })
	}
	plain := config.Config{Listen: []string{"127.0.0.1:1", "0.0.0.0:1"}}
	plain.Operations.Listen = []string{":2"}
	on([]string{"tls-none", "operations-open"}, plain, func(d *doctor) { d.tls(t.Context()) })
}

func queues(now time.Time, on onDoctor) {
	led := store.Survey{Jobs: map[string]int64{"available": 3}, Leader: "m1", LeaderUntil: now.Add(time.Minute)}
	late, unworked, discarded, idle := led, led, led, led
	late.OldestJob = now.Add(-time.Hour)
	unworked.OldestJob, unworked.LeaderUntil = late.OldestJob, now.Add(-time.Minute)
	discarded.Jobs = map[string]int64{"discarded": 1}
	idle.Leader, idle.LeaderUntil = "", time.Time{}
	for want, s := range map[string]store.Survey{
		"jobs-none": {}, "jobs-right": led, "jobs-late": late, "jobs-unworked": unworked, "jobs-discarded": discarded, "jobs-no-leader": idle,
	} {
		on([]string{want}, config.Config{}, func(d *doctor) { d.jobs(&s) })
	}
}

func databases(t *testing.T, on onDoctor) {
	t.Helper()
	at := func(name string, spoil ...string) config.Config {
		path := filepath.Join(t.TempDir(), name)
		m, err := store.Open(t.Context(), path, store.Options{})
		if err == nil { // with the tables of the queue, as a manager creates them
			_, err = riverwork.New(t.Context(), m.Writer(), riverwork.Options{Name: "m", Log: slog.New(slog.DiscardHandler), Work: func(context.Context, control.Job) error { return nil }})
			err = errors.Join(err, m.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, statement := range spoil {
			storetest.Execute(t, path, statement)
		}
		return config.Config{Database: path}
	}
	rest := []string{"clock-own", "jobs-no-leader"}
	look := func(want string, c config.Config, rest ...string) {
		t.Helper()
		on(append([]string{"space-right", want}, rest...), c, func(d *doctor) { d.store(t.Context()) })
	}
	look("store-right", at("right.db"), rest...)
	look("store-newer", at("newer.db", "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99001, 1)"), rest...)
	look("store-older", at("older.db", "DELETE FROM goose_db_version WHERE version_id = (SELECT MAX(version_id) FROM goose_db_version)"), rest...)
	look("store-damaged", config.Config{Database: filetest.Write(t, "letter.db", strings.Repeat("a letter to grandmother\n", 300))})
	damaged := at("damaged.db")
	storetest.SpoilPage(t, damaged.Database, "audit")
	look("store-damaged", damaged, rest...)
	on([]string{"store-unchecked"}, config.Config{}, func(d *doctor) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := d.pages(ctx, "", damaged.Database); err != nil {
			t.Error(err)
		}
	})
	on([]string{"store-away"}, config.Config{Database: "postgres://nobody@127.0.0.1:1/none"}, func(d *doctor) { d.store(t.Context()) })
	look("store-absent", config.Config{Database: filepath.Join(t.TempDir(), "none.db")})
	wrong := func(want, path string) {
		t.Helper()
		on([]string{want}, config.Config{Database: path}, func(d *doctor) { d.store(t.Context()) })
	}
	wrong("store-path", filepath.Join(t.TempDir(), "no", "f.db"))
	wrong("store-path", filepath.Join(filetest.Write(t, "file", ""), "f.db"))
	wrong("store-path", t.TempDir())
	wrong("store-directory", filepath.Join(t.TempDir(), strings.Repeat("x", 300), "f.db")) // the name is too long for the file system
}

func services(t *testing.T, on onDoctor) {
	t.Helper()
	for want, c := range map[string]struct {
		ready   int
		version string
	}{
		"service-right": {200, `{"version":"` + buildinfo.Version() + `"}`}, "service-version": {200, `{"version":"0.0.1-other"}`}, "service-other": {200, "<html>"},
		"service-not-ready": {503, `{"version":"` + buildinfo.Version() + `"}`},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/ready") {
				w.WriteHeader(c.ready)
				return
			}
			_, _ = fmt.Fprint(w, c.version) // the client may have disconnected
		}))
		on([]string{want}, config.Config{}, func(d *doctor) { d.now = time.Now; d.url = srv.URL; d.service(t.Context()) })
		srv.Close()
		on([]string{"service-away"}, config.Config{}, func(d *doctor) { d.url = srv.URL; d.service(t.Context()) })
	}
}

func portals(t *testing.T, on onDoctor) {
	t.Helper()
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	whole := file("__CSP_NONCE__")
	for want, files := range map[string]fstest.MapFS{
		"portal-absent": {"placeholder.html": file("")}, "portal-damaged": {"placeholder.html": file(""), "portal.html": file("no hole")},
		"portal-right": {"placeholder.html": file(""), "portal.html": whole, "console.html": whole},
	} {
		on([]string{want}, config.Config{}, func(d *doctor) { d.portal(web.New(files)) })
	}
}

func fabrics(t *testing.T, on onDoctor) {
	t.Helper()
	ctx := t.Context()
	for want, source := range map[string]string{
		"fabric-source": "smoke:signals", "fabric-away": "ibsim:unix:fairlane-no-such-fabric", "fabric-file": "file:" + filetest.Write(t, "fabric.yaml", subnettest.TwoHosts),
	} {
		on([]string{want}, config.Config{}, func(d *doctor) { d.fabric(ctx, store.FabricSource{Name: "lab", Source: source}, 1, 0) })
	}
	over, end := context.WithCancel(ctx)
	end()
	on([]string{"fabric-unchecked"}, config.Config{}, func(d *doctor) {
		d.fabric(over, store.FabricSource{Name: "lab", Source: "ibsim:unix:fairlane-no-such-fabric"}, 1, 0)
	})
	on([]string{"fabric-forbidden"}, config.Config{Discovery: config.Discovery{Sources: []string{"umad:*"}}}, func(d *doctor) {
		d.fabric(ctx, store.FabricSource{Name: "lab", Source: "file:/etc/passwd"}, 1, 0)
	})
	lab, err := live.StartEthernet(ctx, livetest.SlowCase(t, policy.PlaneWRCC), live.EthernetOptions{TimeScale: 1e-6, Dir: filepath.Join(t.TempDir(), "lab")})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(want string) {
		on([]string{want}, config.Config{}, func(d *doctor) { d.fabric(ctx, store.FabricSource{Name: "lab", Source: lab.Source()}, 0, 0) })
	}
	ask("fabric-devices")
	roce := livetest.Ethernet(t, livetest.SlowCase(t, policy.PlaneRoCE), live.EthernetOptions{TimeScale: 1e-6, Dir: filepath.Join(t.TempDir(), "roce")})
	livetest.PauseOff(t, roce.Addr)
	on([]string{"fabric-settings"}, config.Config{}, func(d *doctor) { d.fabric(ctx, store.FabricSource{Name: "lab", Source: roce.Source()}, 0, 0) })
	if err := lab.Close(); err != nil {
		t.Error(err)
	}
	ask("fabric-strangers")
	master, standby := &mad.SMInfo{GUID: 7, State: mad.SMStateMaster}, &mad.SMInfo{GUID: 7, State: mad.SMStateStandby}
	managed := &mad.PortInfo{LID: 3, MasterSMLID: 1}
	yes, no := filetest.Write(t, "yes.conf", "congestion_control TRUE\n"), filetest.Write(t, "no.conf", "guid 0x0\n")
	for _, c := range []struct {
		a      agents
		key    mad.Key
		opensm string
		want   []string
	}{
		{agents{}, 1, "", []string{"fabric-silent"}},
		{agents{port: &mad.PortInfo{LID: 3}}, 0, "", []string{"fabric-right", "cc-key-none", "sm-none"}},
		{agents{port: managed, manager: master}, 1, yes, []string{"fabric-right", "sm-master", "sm-congestion-on"}},
		{agents{port: managed, manager: standby}, 1, no, []string{"fabric-right", "sm-other", "sm-congestion-off"}},
		{agents{port: managed}, 1, "no/such/file", []string{"fabric-right", "sm-silent", "sm-congestion-unknown"}},
	} {
		on(c.want, config.Config{}, func(d *doctor) {
			d.opensm = c.opensm
			d.attached(ctx, store.FabricSource{Name: "lab", Source: "ibsim:unix:lab"}, &c.a, c.key)
		})
	}
}

// withManagers triggers the findings about subnet managers whose files Fairlane writes.
func withManagers(t *testing.T, on onDoctor) {
	t.Helper()
	ctx := t.Context()
	guid := mad.SMInfo{GUID: 0x11, State: mad.SMStateMaster}
	fabric := &agents{port: &mad.PortInfo{LID: 3, MasterSMLID: 1}, manager: &guid}
	self := filetest.Write(t, "pid", fmt.Sprint(os.Getpid(), "\n")) // this process, which is not OpenSM
	file := func(options, partitions string) placement.Managers {
		return placement.Managers{"lab": {OpenSM: &smfile.OpenSM{Options: options, Partitions: partitions, PIDFile: self}}}
	}
	none := filepath.Join(t.TempDir(), "partitions.conf")
	fine, foreign := filetest.Write(t, "opensm.conf", "qos TRUE\n"), filetest.Write(t, "opensm.conf", "guid 0x12\n")
	cc, broken := filetest.Write(t, "opensm.conf", "congestion_control TRUE\n"), filetest.Write(t, "partitions.conf", "Default=0x7fff:ALL=full\n")
	attached := []string{"fabric-right", "sm-master"}
	for _, c := range []struct {
		managers placement.Managers
		want     []string
	}{
		{file(fine, none), []string{"sm-congestion-off", "sm-process-away", "sm-master-unknown", "sm-files-right"}},
		{file(foreign, none), []string{"sm-congestion-off", "sm-files-not-master", "sm-files-right"}},
		{file(cc, none), []string{"sm-congestion-on", "sm-process-away", "sm-master-unknown", "sm-files-problem"}},
		{file(fine, broken), []string{"sm-congestion-off", "sm-process-away", "sm-master-unknown", "sm-files-problem"}},
		{file(filepath.Dir(none), none), []string{"sm-congestion-unknown", "sm-files-away"}},
	} {
		on(append(slices.Clone(attached), c.want...), config.Config{}, func(d *doctor) {
			d.managers = c.managers
			d.attached(ctx, store.FabricSource{Name: "lab", Source: "ibsim:unix:lab"}, fabric, 1)
			for _, f := range d.findings {
				if f.Code == "sm-process-away" && !strings.Contains(f.Found.String(), self+" names process ") {
					t.Errorf("no reason why the process is not known: %s", f.Found)
				}
			}
		})
	}
	server := ufmtest.New()
	url, _ := server.Start(t)
	_, path := ufmtest.Start(t)
	ufmManaged, err := placement.ReadManagers([]string{"lab=" + path})
	if err != nil {
		t.Fatal(err)
	}
	away := placement.Managers{"lab": {UFM: &smfile.UFM{URL: url, TokenFile: filetest.Write(t, "token", "another\n")}}}
	lab := []store.FabricSource{{Name: "lab"}}
	on([]string{"sm-ufm-right"}, config.Config{}, func(d *doctor) { d.managers = ufmManaged; d.subnetManagers(ctx, lab) })
	open := filetest.Write(t, "token", "x")
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	on([]string{"key-open"}, config.Config{}, func(d *doctor) {
		d.managers = placement.Managers{"lab": {UFM: &smfile.UFM{TokenFile: open}}}
		d.keys(ctx)
	})
	on([]string{"sm-ufm-away"}, config.Config{}, func(d *doctor) { d.managers = away; d.subnetManagers(ctx, lab) })
	on([]string{"sm-no-fabric"}, config.Config{}, func(d *doctor) { d.managers = file(fine, none); d.subnetManagers(ctx, nil) })
	on([]string{"sm-files-closed"}, config.Config{}, func(d *doctor) {
		d.writable("lab", file(fine, filepath.Join(filepath.Dir(none), "none", "p"))["lab"].OpenSM)
	})
}

// examined returns the findings that an examination as a whole makes.
func examined(t *testing.T) map[string]control.DoctorFinding {
	t.Helper()
	all := map[string]control.DoctorFinding{"config-wrong": WrongConfig("c.yaml", errors.New("unknown key"))}
	secret := filetest.Write(t, "secret", "")
	for name, id := range map[string]config.OIDC{"config-right": {}, "config-files": {Issuer: "https://id.example", ClientID: "f", ClientSecretFile: secret}} {
		c := config.Default()
		c.Database, c.PublicURL, c.OIDC = filepath.Join(t.TempDir(), "none.db"), "https://f.example", id
		for _, f := range Examine(t.Context(), &c, "c.yaml", Options{Callback: "/callback", URL: "http://127.0.0.1:1"}) {
			if f.Check == "config" && f.Code != name {
				t.Errorf("found %+v, want %s", f, name)
			}
			all[f.Code] = f
		}
	}
	return all
}

// codesOf lists the codes in the doctor's source.
func codesOf(t *testing.T) (codes []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`"doctor\.([a-z-]+)"`).FindAllStringSubmatch(string(text), -1) {
			codes = append(codes, m[1])
		}
	}
	if len(codes) < 40 {
		t.Fatalf("%d codes are in the doctor's source: the pattern does not fit it any more", len(codes))
	}
	return codes
}

// devicePorts triggers the findings about the device file.
func devicePorts(t *testing.T, on onDoctor) {
	t.Helper()
	port := agents{port: &mad.PortInfo{LID: 2, MasterSMLID: 1}}
	machine := umad.Options{Timeout: 100 * time.Millisecond, OpenDevice: func(string) (umad.Device, error) {
		return umadtest.New(func(s umadtest.Sent) []byte {
			to := mad.Target{LID: ident.LID(s.LID)}
			if s.MAD.Class() == mad.ClassSubnDR {
				to.LID = 0
			}
			reply, err := port.Exchange(context.Background(), to, &s.MAD)
			if err != nil {
				return nil
			}
			return reply[:]
		}), nil
	}}
	machine.SysRoot, machine.DevRoot = umadtest.Machine(t, umadtest.Port{CA: "mlx5_0", Port: 1, LID: 2, SMLID: 1})
	closed, waits, other := machine, machine, machine
	closed.OpenDevice = func(path string) (umad.Device, error) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.EACCES}
	}
	waits.SysRoot, _ = umadtest.Machine(t, umadtest.Port{CA: "mlx5_0", Port: 1, State: "2: INIT"})
	other.SysRoot, _ = umadtest.Machine(t, umadtest.Port{CA: "mlx5_0", Port: 1, LinkLayer: "Ethernet"})
	for _, c := range []struct {
		o      umad.Options
		Source string
		want   []string
	}{
		{machine, "umad:mlx5_0:1", []string{"port-right", "fabric-right", "cc-key-none", "sm-silent", "sm-congestion-unknown"}},
		{waits, "umad:mlx5_0:1", []string{"port-waits", "fabric-right", "cc-key-none", "sm-silent", "sm-congestion-unknown"}},
		{closed, "umad:mlx5_0:1", []string{"port-closed"}},
		{machine, "umad:mlx4_0:1", []string{"port-away"}},
		{other, "umad:mlx5_0:1", []string{"port-away"}},
		{machine, "umad:mlx5_0", []string{"fabric-source"}},
	} {
		on(c.want, config.Config{}, func(d *doctor) {
			d.umad = c.o
			d.fabric(t.Context(), store.FabricSource{Name: "lab", Source: c.Source}, 0, 0)
		})
	}
}

// others triggers the findings about other managers.
func others(t *testing.T, on onDoctor) {
	t.Helper()
	at := func(version string) Peer {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, version) }))
		t.Cleanup(srv.Close)
		return Peer{Name: "m2", URL: srv.URL + "/"}
	}
	same := at(`{"version":"` + buildinfo.Version() + `"}`)
	many := slices.Repeat([]Peer{same}, mostPeers+2)
	for _, c := range []struct {
		list []Peer
		err  error
		want []string
	}{
		{nil, errors.New("two have one address"), []string{"peers-away"}},
		{[]Peer{same, at(`{"version":"0.0.1-other"}`), at("<html>"), {Name: "m3", URL: "http://127.0.0.1:1"}}, nil, []string{"peer-right", "peer-version", "peer-away", "peer-away"}},
		{many, nil, append(slices.Repeat([]string{"peer-right"}, mostPeers), "peers-more")},
	} {
		on(c.want, config.Config{}, func(d *doctor) {
			d.peers(t.Context(), func(context.Context) ([]Peer, error) { return c.list, c.err }, nil)
		})
	}
	on(nil, config.Config{}, func(d *doctor) { d.peers(t.Context(), nil, nil) })
}

// folders triggers the findings about the series' folder and server.
func folders(t *testing.T, on onDoctor) {
	t.Helper()
	at := func(path string) config.Config {
		return config.Config{Series: config.Series{Period: time.Minute, Path: path}}
	}
	on([]string{"series-directory"}, at(filepath.Join(filetest.Write(t, "file", ""), "series")), func(d *doctor) { d.seriesSpace(t.Context()) })
	on(nil, at(filepath.Join(t.TempDir(), "none")), func(d *doctor) { d.seriesSpace(t.Context()) })
	on(nil, config.Config{}, func(d *doctor) { d.seriesSpace(t.Context()) })
	answers := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/read" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte{0}) // no series, compressed
	}))
	t.Cleanup(answers.Close)
	for want, url := range map[string]string{"series-right": answers.URL, "series-away": answers.URL + "/other"} {
		on([]string{want}, config.Config{}, func(d *doctor) { d.series(t.Context(), embedded.ExternalOptions{URL: url}) })
	}
}

func TestClockDifferencesAreRated(t *testing.T) {
	t.Parallel()
	for by, want := range map[time.Duration]string{
		0: "clock-right", 900 * time.Millisecond: "clock-right", -2 * time.Second: "clock-skew", 3 * time.Second: "clock-skew", -time.Hour: "clock-wrong",
	} {
		d := &doctor{}
		d.skew("database", by)
		if d.findings[0].Code != want {
			t.Errorf("%s is %s, want %s", by, d.findings[0].Code, want)
		}
	}
}

func TestOpenSMsOptionIsRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]bool{
		"congestion_control TRUE\n":                         {true, true},
		"# congestion_control TRUE\nguid 0x0\n":             {false, true},
		"congestion_control FALSE\ncc_key 0x0\n":            {false, true},
		"congestion_control FALSE\ncongestion_control TRUE": {true, true},
		"congestion_control true\n":                         {false, true}, // parsed as OpenSM does
	} {
		on, known := opensmCongestionControl(filetest.Write(t, "opensm.conf", text))
		if on != want[0] || known != want[1] {
			t.Errorf("%q: %v, %v", text, on, known)
		}
	}
	if _, known := opensmCongestionControl("no/such/file"); known {
		t.Error("known without a file")
	}
}

// A fabric without a CC_Key gets a warning with the command that sets one.
func TestAFabricWithoutAKeyIsAWarning(t *testing.T) {
	t.Parallel()
	d := &doctor{config: &config.Config{}, now: time.Now}
	d.attached(t.Context(), store.FabricSource{Name: "lab", Source: "ibsim:unix:lab"}, &agents{port: &mad.PortInfo{LID: 3}}, 0)
	for _, f := range d.findings {
		if f.Code == "cc-key-none" && f.Status == control.DoctorWarning && strings.Contains(f.Do.String(), "fairlane device cc-key set --from ibsim:unix:lab") {
			return
		}
	}
	t.Errorf("findings are %+v", d.findings)
}
