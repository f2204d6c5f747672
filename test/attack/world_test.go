package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fairlane/service/store/pgtest"
	"fairlane/test/servetest"
)

type object = map[string]any

const star = `version: 1
name: star
nodes:
  - {name: leaf1, kind: switch, ports: 8}
  - {name: host1, kind: host}
  - {name: host2, kind: host}
  - {name: host3, kind: host}
  - {name: host4, kind: host}
links:
  - {a: host1:1, b: leaf1:1, rate: 100Gbit/s, delay: 1us}
  - {a: host2:1, b: leaf1:2, rate: 100Gbit/s, delay: 1us}
  - {a: host3:1, b: leaf1:3, rate: 100Gbit/s, delay: 1us}
  - {a: host4:1, b: leaf1:4, rate: 100Gbit/s, delay: 1us}
`

const traffic = `version: 1
tenants:
  - name: red
    weight: 3
    pkey: 0x8001
    attachments: [{port: host1, sl: 2}, {port: host4, sl: 2}]
    flows:
      - {from: host1, to: host4}
  - name: blue
    weight: 2
    pkey: 0x8002
    attachments: [{port: host2, sl: 3}, {port: host4, sl: 3}]
    flows:
      - {from: host2, to: host4, qps: 8}
`

// timeScale makes the simulated fabrics cheap.
const timeScale = 0.0005

// Words that only one tenant's users, or no user, may see.
const (
	wordOfRed  = "crimson-heron"
	wordOfBlue = "cobalt-otter"
)

// annex is a fabric without tenants. Only its administrator may see it.
const annex = "annex"

// world is the service with its contents.
type world struct {
	t        *testing.T
	ctx      context.Context
	dir      string
	managers []*manager
	book     *book
	watch    *watch
	spec     *contract

	admin, operator, auditor, nobody *caller
	decoy                            *caller // has an operator's rights and uses them only on the fabric "decoy"
	red, blue                        *caller
	redViewer                        *caller
	neighbour                        *caller // administers only the fabric "annex"
	password                         string  // of every user

	mu      sync.Mutex
	secrets []string
	rng     *rand.Rand
	keys    atomic.Int64
}

// key returns a new idempotency key.
func (w *world) key() string { return fmt.Sprintf("key-%d-%d", *seed, w.keys.Add(1)) }

// secret records a text that no log may contain.
func (w *world) secret(s string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.secrets = append(w.secrets, s)
	return s
}

func newWorld(t *testing.T) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), *lasting+30*time.Minute)
	t.Cleanup(cancel)
	w := &world{t: t, ctx: ctx, dir: t.TempDir(), book: newBook(t), rng: rand.New(rand.NewPCG(*seed, 1000))}
	w.spec = readContract(t)
	for name, text := range map[string]string{"star.yaml": star, "tenants.yaml": traffic} {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.simulate("--addr", w.socket("lab"))
	w.simulate("--addr", w.socket("race"))
	w.simulate("--plane", "roce", "--dir", "eth")
	w.await("the inventory", func() bool {
		_, err := os.Stat(filepath.Join(w.dir, "eth", "inventory.yaml"))
		return err == nil
	})
	url := pgtest.Start(t, pgtest.Options{}).Database(t)
	for _, name := range []string{"m1", "m2"} {
		p := servetest.New(t, servetest.Options{Name: name, Database: url, Dir: w.dir, Config: fmt.Sprintf("series: {path: %q}\n", filepath.Join(t.TempDir(), "series"))})
		w.managers = append(w.managers, &manager{Process: p, name: name})
	}
	w.watch = newWatch(w)
	for _, m := range w.managers {
		w.await(m.name, func() bool {
			return w.exchange(ctx, newCaller("start", "", "127.0.0.1"), m, request{method: "GET", path: "/ready"}).status == http.StatusOK
		})
	}
	return w
}

// await waits for a condition during the start.
func (w *world) await(what string, ok func() bool) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); {
		if time.Now().After(end) || !pause(w.ctx, 50*time.Millisecond) {
			w.t.Fatalf("%s does not come", what)
		}
	}
}

func (w *world) socket(name string) string {
	return fmt.Sprintf("unix:fairlane-attack-%d-%s", os.Getpid(), name)
}

// simulate runs a simulated fabric until the end of the test.
func (w *world) simulate(args ...string) {
	ctx, cancel := context.WithCancel(context.Background())
	cmd := servetest.Command(ctx, append([]string{"sim", "serve", "star.yaml", "--tenants", "tenants.yaml", "--time-scale", fmt.Sprint(timeScale)}, args...)...)
	cmd.Dir = w.dir
	if err := cmd.Start(); err != nil {
		cancel()
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { cancel(); _ = cmd.Wait() })
}

// must makes a legitimate request at the start or the end.
func (w *world) must(c *caller, method, path string, body, out any) {
	w.t.Helper()
	if err := w.do(w.ctx, c, method, path, body, out); err != nil {
		w.t.Fatal(err)
	}
}

// furnish creates fabrics, tenants and accounts.
func (w *world) furnish() {
	w.nobody = newCaller("nobody", "", "127.0.2.1")
	w.admin = newCaller("the administrator", w.secret(servetest.Token), "127.0.0.1")
	for name, source := range map[string]string{
		"lab": "ibsim:" + w.socket("lab"), "race": "ibsim:" + w.socket("race"), "eth": "ethernet:./eth/inventory.yaml",
		"decoy": "file:./star.yaml", "books": "file:./star.yaml", annex: "file:./star.yaml",
	} {
		w.must(w.admin, "POST", "/fabrics", object{"name": name, "source": source, "time_scale": timeScale}, nil)
		if name != "books" && name != annex {
			w.must(w.admin, "POST", "/fabrics/"+name+"/discover", nil, nil)
			w.must(w.admin, "PUT", "/fabrics/"+name+"/tenants", tenantsOf(3, 2), nil)
		}
	}
	w.password = w.secret("a password-of-this-attack")
	for _, u := range []string{"ada", "grace"} {
		w.must(w.admin, "POST", "/users", object{"name": u, "password": w.password, "roles": []object{{"role": "auditor"}}}, nil)
	}
	w.operator = w.account("/service-accounts", "hands", "operator", "127.0.0.1")
	w.auditor = w.account("/service-accounts", "eyes", "auditor", "127.0.2.2")
	w.decoy = w.account("/service-accounts", "decoy", "operator", "127.0.2.3")
	w.auditor.reads = true
	w.red = w.account("/fabrics/lab/tenants/red/service-accounts", wordOfRed, "tenant-admin", "127.0.2.4")
	w.blue = w.account("/fabrics/lab/tenants/blue/service-accounts", wordOfBlue, "tenant-admin", "127.0.2.5")
	w.redViewer = w.account("/fabrics/lab/tenants/red/service-accounts", wordOfRed+"-2", "tenant-viewer", "127.0.2.6")
	w.redViewer.reads = true
	w.neighbour = w.account("/service-accounts", "neighbour", "fabric-admin", "127.0.2.7", annex)
	w.red.name, w.blue.name, w.redViewer.name = "red's administrator", "blue's administrator", "red's viewer"
	w.neighbour.name = "another fabric's administrator"
	w.red.forbidden = []string{wordOfBlue, `"blue"`, "0x8002", "hands"}
	w.redViewer.forbidden = w.red.forbidden
	w.blue.forbidden = []string{wordOfRed, `"red"`, "0x8001", "hands"}
	w.nobody.forbidden = []string{wordOfRed, wordOfBlue, `"red"`, `"blue"`, "0x8001", "0x8002"}
	w.neighbour.forbidden = append([]string{"hands", "grace"}, w.nobody.forbidden...)
}

// account creates a service account with a token; its role applies to the fabric, if one is named.
func (w *world) account(path, name, role, from string, fabric ...string) *caller {
	w.t.Helper()
	var made struct{ Secret string }
	body := object{"name": name, "role": role}
	if len(fabric) == 1 {
		body["fabric"] = fabric[0]
	}
	w.must(w.admin, "POST", path, body, nil)
	w.must(w.admin, "POST", path+"/"+name+"/tokens", object{"name": "attack"}, &made)
	return newCaller(name, w.secret(made.Secret), from)
}

// tenantsOf declares the two tenants of every fabric.
func tenantsOf(red, blue int) object {
	tenant := func(name, pkey, host string, weight, sl int) object {
		return object{"name": name, "weight": weight, "pkey": pkey, "attachments": []object{{"port": host, "sl": sl}, {"port": "host4", "sl": sl}}}
	}
	list := []object{tenant("red", "0x8001", "host1", red, 2), tenant("blue", "0x8002", "host2", blue, 3)}
	return object{"tenants": list, "flows": []object{{"tenant": "red", "src": "host1", "dst": "host4"}, {"tenant": "blue", "src": "host2", "dst": "host4", "qps": 8}}}
}

// manager is one of the two managers, with its freezes and kills.
type manager struct {
	*servetest.Process
	name string

	mu      sync.Mutex
	down    bool      // frozen, or killed and not ready yet
	trouble time.Time // when it was last down
	born    int       // number of restarts
}

func (m *manager) set(down bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down, m.trouble = down, time.Now()
}

// isDown reports whether it is frozen or killed.
func (m *manager) isDown() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.down
}

// troubledSince reports whether it was down at any time after t.
func (m *manager) troubledSince(t time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.down || m.trouble.After(t)
}

// serving returns a manager that is not down, as a load balancer would.
func (w *world) serving() *manager {
	w.mu.Lock()
	i := w.rng.IntN(len(w.managers))
	w.mu.Unlock()
	for k := range w.managers {
		if m := w.managers[(i+k)%len(w.managers)]; !m.isDown() {
			return m
		}
	}
	return w.managers[i]
}

// decode decodes an answer that was already checked.
func decode(a answer, out any) bool {
	return a.err == nil && a.status < 300 && json.Unmarshal(a.body, out) == nil
}
