package api

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"fairlane/api/gen"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/identity"
	"fairlane/service/control/plans"
	"fairlane/tenants"
)

var (
	contractRequests = flag.Int("contract.requests", 3000, "requests of the contract fuzz; make soak has more")
	contractSeed     = flag.Uint64("contract.seed", 1, "seed of the contract fuzz")
)

// intent is what a generated request is meant to be.
type intent int

const (
	valid    intent = iota // satisfies the contract
	boundary               // at the limits of the contract
	invalid                // breaks one of its rules
	hostile                // tries to do harm
)

// fuzzer generates requests from the contract and sends them to a real server over a real store.
type fuzzer struct {
	*rig
	rand  *rand.Rand
	ops   []operation
	db    *sql.DB
	state [32]byte
	stamp int64
	plan  string
	ports []string
	// tenants are the tokens of callers with roles in tenants only.
	tenants []string
	sent    []*request // to be sent again
	counts  map[string]map[int]int
}

// request is one request as it is sent.
type request struct {
	op     operation
	path   string
	query  string
	body   []byte
	kind   string
	header http.Header
}

func (r *request) String() string {
	return fmt.Sprintf("%s %s?%s %v %.300q", r.op.method, r.path, r.query, r.header, r.body)
}

func TestGeneratedRequestsNeverHarm(t *testing.T) {
	t.Parallel()
	f := newFuzzer(t, *contractSeed)
	for i := range *contractRequests {
		f.one(i)
		if t.Failed() {
			t.Fatalf("request %d of seed %d failed; go on from there with -contract.seed", i, *contractSeed)
		}
	}
	var never []string
	good := 0
	for _, op := range f.ops {
		answered := f.counts[op.OperationID]
		if len(answered) == 0 {
			never = append(never, op.OperationID)
		}
		for status := range answered {
			if status < 300 {
				good++
				break
			}
		}
	}
	if len(never) > 0 && *contractRequests >= 3000 {
		t.Errorf("operations never asked for: %v", never)
	}
	if *contractRequests >= 3000 && good < len(f.ops)/2 {
		t.Errorf("%d of %d operations ever succeeded: the generator is too wild to reach behind the validation", good, len(f.ops))
	}
	t.Logf("%d requests, %d of %d operations succeeded at least once", *contractRequests, good, len(f.ops))
}

func newFuzzer(t *testing.T, seed uint64) *fuzzer {
	t.Helper()
	f := &fuzzer{rig: newRig(t), rand: rand.New(rand.NewPCG(seed, 7)), counts: map[string]map[int]int{}}
	for _, op := range operationsOf(f.server.spec.doc) {
		if !streams(op.path) { // endless; TestEventsStreamAsTheyHappen covers it
			f.ops = append(f.ops, op)
		}
	}
	var err error
	if f.db, err = sql.Open("sqlite", f.Path); err != nil {
		t.Fatal(err)
	}
	f.db.SetMaxOpenConns(1) // data_version is per connection
	t.Cleanup(func() { _ = f.db.Close() })
	f.furnish()
	people := &rightsRig{rig: f.rig}
	f.tenants = []string{people.person("admin-of-red", "tenant-admin@lab/red"), people.person("viewer-of-blue", "tenant-viewer@lab/blue")}
	return f
}

// furnish makes sure that there are objects to request.
func (f *fuzzer) furnish() {
	f.t.Helper()
	ctx := f.t.Context()
	if _, err := f.Service.Fabric(ctx, "lab"); errors.Is(err, control.ErrNotFound) {
		f.Lab(f.t)
	}
	f.people(ctx)
	p, _, err := f.Service.MakePlan(ctx, "lab", plans.PlanRequest{Options: &policy.Options{}}, false)
	if err == nil {
		f.plan = p.Plan.Name
	}
	if _, topo, err := f.Service.Topology(ctx, "lab", ""); err == nil {
		f.ports = f.ports[:0]
		for _, l := range topo.Links {
			f.ports = append(f.ports, topo.PortID(l.A).String(), topo.PortID(l.B).String(), topo.Nodes[l.A.Node].Name)
		}
	}
	f.Wait()
}

// people restores what requests have deleted: tenants with a class, and accounts with a token.
func (f *fuzzer) people(ctx context.Context) {
	f.t.Helper()
	missing := false
	for _, name := range []string{"red", "blue"} {
		if _, err := f.Service.Tenant(ctx, "lab", name); errors.Is(err, control.ErrNotFound) {
			missing = true
		}
	}
	if missing {
		_, _ = f.Service.ApplyTenants(ctx, "lab", controltest.Tenants(), false) // other declarations may conflict with it
	}
	for _, d := range []tenants.Domain{{}, {Fabric: "lab", Tenant: "red"}, {Fabric: "lab", Tenant: "blue"}} {
		role := tenants.RoleAuditor
		if !d.All() {
			role = tenants.RoleTenantViewer
			_ = f.Service.AddClass(ctx, "lab", d.Tenant, tenants.Class{Name: "bulk", Weight: 1000}) // it may exist
		}
		in := identity.ServiceAccountInput{Name: "runner", Grant: tenants.Grant{Role: role, Domain: d}}
		if a, err := f.Service.CreateServiceAccount(ctx, in); err == nil {
			_, _, _ = f.Service.CreateToken(ctx, a.Ref(), identity.TokenInput{Name: "laptop"})
		}
	}
}

func (f *fuzzer) one(i int) {
	f.t.Helper()
	if i%100 == 0 {
		f.furnish()
	}
	r := f.request()
	before := f.snapshot()
	a := f.send(r)
	if f.counts[r.op.OperationID] == nil {
		f.counts[r.op.OperationID] = map[int]int{}
	}
	f.counts[r.op.OperationID][a.status]++
	if a.status >= 500 && !outside(a) {
		f.t.Errorf("%s\ngives %d: %s", r, a.status, a.body)
	}
	f.Wait()
	if f.snapshot() != before {
		switch {
		case a.status >= 400:
			f.t.Errorf("%s\nwas refused with %d and changed the store: %s", r, a.status, a.body)
		case a.header.Get(dryRunHeader) == "true":
			f.t.Errorf("%s\nwas a dry run and changed the store: %s", r, a.body)
		case r.op.method == http.MethodGet:
			f.t.Errorf("%s\nonly reads and changed the store: %s", r, a.body)
		}
	}
	if f.sent = append(f.sent, r); len(f.sent) > 50 {
		f.sent = f.sent[1:]
	}
}

// outside reports whether the fabric failed: only one source of the rig answers.
func outside(a answer) bool {
	var p gen.Problem
	return json.Unmarshal(a.body, &p) == nil && slices.Contains([]string{"discovery-failed", "measurement-failed", "devices-unreachable"}, p.Code)
}

func (f *fuzzer) send(r *request) answer {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.t.Context()), time.Minute)
	defer cancel()
	target := r.path
	if r.query != "" {
		target += "?" + r.query
	}
	var body io.Reader
	if r.body != nil {
		body = strings.NewReader(string(r.body))
	}
	req, err := http.NewRequestWithContext(ctx, r.op.method, "http://fairlane"+target, body)
	if err != nil { // the generator made a request that no client can send
		f.t.Fatalf("%s: %v", r, err)
	}
	req.RequestURI, req.RemoteAddr = target, "192.0.2.1:1234"
	req.Header = r.header.Clone()
	if req.Header.Get("Authorization") == "Bearer nonsense" {
		req.RemoteAddr = fmt.Sprintf("198.51.100.%d:%d", f.rand.IntN(250), 1024+f.rand.IntN(60000)) // wrong tokens count against their source
	}
	a := serve(f.t, f.server, req)
	f.judge(req, a)
	return a
}

// snapshot returns the hash of all data that requests are about. It excludes counts and logs about requests themselves:
// sign-ins, last use of tokens, the audit log of refused changes.
func (f *fuzzer) snapshot() [32]byte {
	f.t.Helper()
	ctx := f.t.Context()
	var stamp int64
	if err := f.db.QueryRowContext(ctx, "PRAGMA data_version").Scan(&stamp); err != nil {
		f.t.Fatal(err)
	}
	if stamp == f.stamp {
		return f.state
	}
	h := sha256.New()
	for _, table := range f.tables(ctx) {
		rows, err := f.db.QueryContext(ctx, `SELECT * FROM "`+table+`"`)
		if err != nil {
			f.t.Fatal(err)
		}
		hashRows(f.t, h, table, rows)
	}
	f.stamp = stamp
	h.Sum(f.state[:0])
	return f.state
}

func hashRows(t testing.TB, h io.Writer, table string, rows *sql.Rows) {
	t.Helper()
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values := make([]any, len(columns))
	for i := range values {
		values[i] = new(any)
	}
	for rows.Next() {
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		for i, name := range columns {
			if strings.HasPrefix(name, "used_") || strings.HasPrefix(name, "last_used") || table == "sessions" && strings.HasPrefix(name, "seen_") {
				continue
			}
			_, _ = fmt.Fprintf(h, "%s.%s=%v\n", table, name, *values[i].(*any)) //nolint:forcetypeassert // made above
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

func (f *fuzzer) tables(ctx context.Context) []string {
	rows, err := f.db.QueryContext(ctx, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var list []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			f.t.Fatal(err)
		}
		if strings.HasPrefix(name, "sqlite_") || strings.HasPrefix(name, "audit") || strings.HasPrefix(name, "goose") || name == "signin_failures" {
			continue
		}
		list = append(list, name)
	}
	if err := rows.Err(); err != nil {
		f.t.Fatal(err)
	}
	return list
}

// request generates the next request.
func (f *fuzzer) request() *request {
	if len(f.sent) > 0 && f.rand.IntN(20) == 0 { // a replay
		return f.sent[f.rand.IntN(len(f.sent))]
	}
	op := f.ops[f.rand.IntN(len(f.ops))]
	if op.OperationID == "deleteFabric" && f.rand.IntN(5) > 0 { // rarely: it deletes everything on the fabric
		op = f.ops[0]
	}
	m := intent(f.rand.IntN(4))
	r := &request{op: op, path: op.path, header: http.Header{"Authorization": {"Bearer " + f.token()}}}
	query := url.Values{}
	for _, list := range []openapi3.Parameters{op.item.Parameters, op.Parameters} {
		for _, p := range list {
			f.parameter(r, query, p.Value, m)
		}
	}
	if m == invalid && f.rand.IntN(10) == 0 {
		query.Set(f.text(), f.text())
	}
	r.query = query.Encode()
	if m == hostile && f.rand.IntN(10) == 0 {
		r.query = pick(f, "%zz", "limit=1&limit=2", "cursor=c.%00", "a=b;c=d", "limit=%F0%28", strings.Repeat("x=1&", 200), "dry_run=TRUE")
	}
	f.fill(r, m)
	f.headers(r, m)
	return r
}

// token returns mostly the administrator's token, so that requests pass the authorisation, and sometimes a tenant's.
func (f *fuzzer) token() string {
	if f.rand.IntN(8) > 0 {
		return controltest.Token
	}
	return pick(f, f.tenants...)
}

func pick[T any](f *fuzzer, list ...T) T { return list[f.rand.IntN(len(list))] }

func (f *fuzzer) parameter(r *request, query url.Values, p *openapi3.Parameter, m intent) {
	switch p.In {
	case "path":
		v := f.known(p.Name)
		if m != valid && f.rand.IntN(4) == 0 || v == "" {
			v = fmt.Sprint(f.value(p.Schema.Value, m, p.Name, 0))
		}
		if v == "" {
			v = "-"
		}
		r.path = strings.ReplaceAll(r.path, "{"+p.Name+"}", url.PathEscape(v))
	case "query":
		if p.Required || f.rand.IntN(3) == 0 {
			v := f.known(p.Name)
			if v == "" || m != valid {
				v = fmt.Sprint(f.value(p.Schema.Value, m, p.Name, 0))
			}
			query.Set(p.Name, v)
		}
	case "header":
		switch p.Name {
		case "If-Match":
			if f.rand.IntN(8) > 0 {
				r.header.Set(p.Name, pick(f, "*", "*", "*", `"1"`, `"0"`, `"2"`, `"999999"`, `W/"1"`, "nonsense", `"`, strings.Repeat("9", 90)))
			}
		case idempotencyHeader:
			if f.rand.IntN(3) == 0 {
				r.header.Set(p.Name, fmt.Sprintf("k%d", f.rand.IntN(40)))
			}
		}
	}
}

// known returns the name of an existing object, for a parameter or field of that name.
func (f *fuzzer) known(name string) string {
	switch name {
	case "fabric":
		return pick(f, "lab", "lab", "lab", "lab", "lab", "lab", "lab", "other")
	case "tenant":
		return pick(f, "red", "blue", "red", "blue", "red", "blue", "green")
	case "class":
		return pick(f, "bulk", "bulk", "bulk", "gold")
	case "account":
		return "runner"
	case "token":
		return "laptop"
	case "profile":
		return controltest.ScenarioGood
	case "plan", "against":
		return f.plan
	case "port", "src", "dst", "device":
		if len(f.ports) > 0 {
			return pick(f, f.ports...)
		}
	case "revision", "rollout", "simulation", "calibration", "policy":
		return fmt.Sprint(1 + f.rand.IntN(4))
	case "source":
		return controltest.Source
	case "scenario":
		return pick(f, controltest.ScenarioGood, controltest.ScenarioBad, controltest.ScenarioLarge)
	case "pkey":
		return fmt.Sprintf("0x80%02x", f.rand.IntN(8))
	case "node":
		return "h1"
	case "cursor":
		return pick(f, "c.1", "c.red", "c.9999999999999999999999", "c.-1", "c.0")
	}
	return ""
}

// fill gives the request a body when its operation has one, and sometimes when it does not.
func (f *fuzzer) fill(r *request, m intent) {
	schema := body(r.op)
	if schema == nil {
		if m == hostile && f.rand.IntN(5) == 0 {
			r.body, r.kind = []byte(`{"a":1}`), "application/json"
		}
		return
	}
	r.kind = "application/json"
	b, err := json.Marshal(f.value(schema, m, "", 0))
	if err != nil {
		f.t.Fatal(err)
	}
	r.body = b
	if m != hostile {
		return
	}
	switch f.rand.IntN(12) {
	case 0:
		r.body = []byte(strings.Repeat(`{"a":`, 1+f.rand.IntN(20000)))
	case 1:
		r.body = []byte(strings.Repeat("[", 9000) + strings.Repeat("]", 9000))
	case 2:
		r.body = append(b, 0xff)
	case 3:
		r.body = slices.Insert(b, f.rand.IntN(len(b)), byte(f.rand.IntN(256)))
	case 4:
		r.body = b[:f.rand.IntN(len(b))]
	case 5:
		r.kind = pick(f, "text/plain", "application/xml", "application/json; charset=utf-7", "", "multipart/form-data", "application/x-www-form-urlencoded")
	case 6:
		r.body = append(b, b...)
	case 7:
		r.body = []byte(pick(f, "null", "true", `""`, "0", "[]", "1e400", "-0", "{}", `{"":{}}`, "\xef\xbb\xbf{}"))
	case 8:
		r.body = []byte(`{"name":"a\u0000b","source":"file:\u0000","weight":1}`)
	}
}

func (f *fuzzer) headers(r *request, m intent) {
	if r.kind != "" {
		r.header.Set("Content-Type", r.kind)
	}
	if m != hostile {
		return
	}
	switch f.rand.IntN(12) {
	case 0:
		r.header.Del("Authorization")
	case 1:
		r.header.Set("Authorization", "Bearer nonsense")
	case 2:
		r.header.Set("X-Request-ID", f.text())
	case 3:
		r.header.Set("Content-Encoding", "gzip")
	case 4:
		r.header.Set("Accept", "text/html")
	}
}

// text returns a string that is known to break some software.
func (f *fuzzer) text() string {
	return pick(f,
		"", " ", "a", "lab' OR '1'='1", `"; DROP TABLE tenants; --`, "../../etc/passwd", "..%2f..", "/", "\\", "%", "%s%n", "$(reboot)", "`id`", "${jndi:ldap://x}",
		"<script>alert(1)</script>", "\u202e", "🦀", "ﬀ", "İ", "nul", "-", "--help", strings.Repeat("a", 64), strings.Repeat("a", 5000), "0", "-1", "1e9",
		"0x", "0x8001", "0xffffffffffffffff:255", "NaN", "null", "true", "2026-02-30T25:61:00Z", "c.", "*", "\u0000", "\t\n", "\xff\xfe", "9223372036854775808",
	)
}

// value generates a value of a schema. name is the field's; depth bounds recursive schemas.
func (f *fuzzer) value(s *openapi3.Schema, m intent, name string, depth int) any {
	if m >= invalid && f.rand.IntN(6) == 0 || depth > 8 {
		return f.odd(m)
	}
	if m != boundary && f.rand.IntN(2) == 0 && s.Type.Is("string") {
		if v := f.known(name); v != "" {
			return v
		}
	}
	switch {
	case len(s.Enum) > 0:
		return pick(f, s.Enum...)
	case s.Type.Is("object"):
		return f.object(s, m, depth)
	case s.Type.Is("array"):
		list := []any{}
		for range int(s.MinItems) + f.rand.IntN(3) {
			list = append(list, f.value(s.Items.Value, m, strings.TrimSuffix(name, "s"), depth+1))
		}
		return list
	case s.Type.Is("boolean"):
		return f.rand.IntN(2) == 0
	case s.Type.Is("integer"):
		return int64(f.number(s, m))
	case s.Type.Is("number"):
		return float64(int64(f.number(s, m)*1000)) / 1000
	}
	return f.word(s, name)
}

func (f *fuzzer) object(s *openapi3.Schema, m intent, depth int) map[string]any {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) { // the seed decides, not the map
		need := slices.Contains(s.Required, name)
		if need && m == invalid && f.rand.IntN(10) == 0 || !need && f.rand.IntN(2) == 0 || !need && m == valid && f.rand.IntN(3) > 0 {
			continue
		}
		out[name] = f.value(s.Properties[name].Value, m, name, depth+1)
	}
	if m == invalid && f.rand.IntN(8) == 0 {
		out[pick(f, "colour", "Name", "__proto__", "", "weight ")] = f.odd(m)
	}
	return out
}

func (f *fuzzer) number(s *openapi3.Schema, m intent) float64 {
	least, most := 0.0, 1e6
	if s.Min != nil {
		least = *s.Min
	}
	if s.Max != nil {
		most = *s.Max
	}
	switch {
	case m == boundary:
		return pick(f, least, most)
	case m == invalid && f.rand.IntN(3) == 0:
		return pick(f, least-1, most+1)
	}
	if most >= 1e14 && m == valid { // a rate: none, or a plausible one
		return pick(f, 0, 1e9, 4e9)
	}
	return least + float64(int64(f.rand.Float64()*min(most-least, 64)))
}

// word returns a text that matches, for the patterns of the contract.
func (f *fuzzer) word(s *openapi3.Schema, name string) string {
	switch {
	case s.Format == "date-time":
		return time.Date(2020+f.rand.IntN(10), 1, 1, 0, 0, 0, 0, time.UTC).Format(time.RFC3339)
	case strings.HasPrefix(s.Pattern, "^[0-9a-f]{"):
		if f.plan != "" {
			return f.plan
		}
		return strings.Repeat("ab", 32)
	case strings.HasPrefix(s.Pattern, "^0x"):
		return "0x8005"
	case strings.HasPrefix(s.Pattern, "^(ibsim"):
		return pick(f, controltest.Source, "file:/nowhere", "ibsim:unix:none")
	case name == "edits" || name == "edit":
		return pick(f, "weight:red=5", "remove:blue", "cap:red=1Gbit/s", "nonsense", "fail:h1")
	case s.Pattern != "" || name != "":
		return pick(f, "red", "blue", "green", "bulk", "x1", "a-b", "n"+fmt.Sprint(f.rand.IntN(50)))
	}
	return "text"
}

// odd returns a value of another type than requested.
func (f *fuzzer) odd(m intent) any {
	if m == hostile && f.rand.IntN(2) == 0 {
		return f.text()
	}
	return pick[any](f, nil, true, -1, 1e308, 4.5, int64(1)<<62, "", "text", []any{}, []any{[]any{nil}}, map[string]any{}, map[string]any{"$ref": "#"})
}
