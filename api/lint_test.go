package api

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// parsed returns the contract as a server parses it.
func parsed(t testing.TB) *spec {
	t.Helper()
	sp, err := loadSpec()
	if err != nil {
		t.Fatal(err)
	}
	return sp
}

// document parses a contract.
func document(t testing.TB, text []byte) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestEveryPatternHasADescription(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		if strings.Contains(line, "pattern: \"") && !strings.Contains(line+lines[i+1], "x-want: want.") {
			t.Errorf("line %d has a pattern and no x-want, which says in words what is allowed: %s", i+1, line)
		}
	}
}

// operation is one operation of a contract with its place and its rule.
type operation struct {
	*openapi3.Operation
	method, path string
	item         *openapi3.PathItem
	rule         rule
}

func (o operation) String() string { return o.OperationID + " (" + o.method + " " + o.path + ")" }

func (o operation) param(in, name string) *openapi3.Parameter {
	return param(o.item, o.Operation, in, name)
}

func (o operation) write() bool { return o.method != http.MethodGet && !byForm(o) }

// foreign reports whether the operation has the form of Prometheus's HTTP API, by its own conventions.
func (o operation) foreign() bool { return strings.HasPrefix(o.path, prometheusRoot) }

func operationsOf(doc *openapi3.T) []operation {
	var list []operation
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			r, _, _ := ruleOf(op) // TestEveryOperationHasARuleThatFitsItsPath judges it
			list = append(list, operation{op, method, path, item, r})
		}
	}
	slices.SortFunc(list, func(a, b operation) int { return strings.Compare(a.path+" "+a.method, b.path+" "+b.method) })
	return list
}

// Reasons shared by several operations.
const (
	oneSecret = "its secret is shown once and never kept"
	revoked   = "taking access away must not wait for who takes it to have read the newest version"
	steers    = "asks something of a running rollout; what comes of it depends on its devices"
	fewTokens = "an account has a bounded number of tokens"
)

// exempt says why an operation is exempt from a rule. An entry that no operation needs is an error.
var exempt = map[string]map[string]string{ //nolint:gochecknoglobals // a table of the test
	"dry_run": {
		"whatIf":                          "keeps nothing anyway",
		"admitTenant":                     "keeps nothing anyway",
		"cancelRollout":                   steers,
		"pauseRollout":                    steers,
		"resumeRollout":                   steers,
		"confirmRollout":                  steers,
		"signIn":                          "begins a session",
		"signOut":                         "ends a session",
		"extendSession":                   "is what every request of a session does",
		"changePassword":                  oneSecret,
		"createMyToken":                   oneSecret,
		"createServiceAccountToken":       oneSecret,
		"createTenantServiceAccountToken": oneSecret,
		"deleteMyToken":                   revoked,
		"deleteServiceAccountToken":       revoked,
		"deleteTenantServiceAccountToken": revoked,
	},
	"Idempotency-Key": {
		"whatIf":                          "keeps nothing anyway",
		"admitTenant":                     "keeps nothing anyway",
		"signIn":                          oneSecret,
		"signOut":                         "done twice it is done",
		"extendSession":                   "done twice it is done",
		"createUser":                      "a name is taken once, and the body holds a password",
		"createMyToken":                   oneSecret,
		"createServiceAccountToken":       oneSecret,
		"createTenantServiceAccountToken": oneSecret,
	},
	"If-Match": {
		"changePassword":                  "wants the password before, which is more",
		"putMember":                       "a role is one word: the last one wins",
		"deleteMember":                    revoked,
		"putFabricMember":                 "a role is one word: the last one wins",
		"deleteFabricMember":              revoked,
		"putObjective":                    "an objective is two numbers: the last one wins",
		"putDefaultObjective":             "an objective is two numbers: the last one wins",
		"deleteObjective":                 "an objective is two numbers: the last one wins",
		"deleteDefaultObjective":          "an objective is two numbers: the last one wins",
		"deleteMyToken":                   revoked,
		"deleteServiceAccount":            revoked,
		"deleteTenantServiceAccount":      revoked,
		"deleteServiceAccountToken":       revoked,
		"deleteTenantServiceAccountToken": revoked,
		"expireSilence":                   "done twice it is done, and silences do not change otherwise",
		"labelPolicy":                     "the last word on a label wins; nothing hangs on it",
	},
	"body": {
		"rollBackRollout": "without one, back to what was before",
	},
	"pages": {
		"listRoles":                      "there are five",
		"listMyTokens":                   fewTokens,
		"listServiceAccountTokens":       fewTokens,
		"listTenantServiceAccountTokens": fewTokens,
	},
}

// lint collects the faults of a contract.
type lint struct {
	faults []string
	used   map[string]bool // exemptions
}

func (l *lint) fault(at fmt.Stringer, format string, args ...any) {
	l.faults = append(l.faults, at.String()+": "+fmt.Sprintf(format, args...))
}

func (l *lint) excused(rule string, o operation) bool {
	_, ok := exempt[rule][o.OperationID]
	if ok {
		l.used[rule+" "+o.OperationID] = true
	}
	return ok
}

var (
	camel = regexp.MustCompile(`^[a-z][a-zA-Z0-9]+$`)
	snake = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	// measured matches names of quantities that need a unit, united those that have one.
	measured = regexp.MustCompile(`(^|_)(rate|bandwidth|capacity|delay|timeout|interval|window|duration|wall|age|size|guarantee|cap|demand|delivered|entitled|predicted|ttl|period|backoff|skew|latency|elapsed)$`)
	united   = regexp.MustCompile(`_(bps|ms|us|ns|ps|s|hours|days|bytes|permille|percent)$`)
	unitless = []string{"marking_rate"} // a number of packets (IBTA annex A10)
)

func (l *lint) operation(o operation) {
	if !camel.MatchString(o.OperationID) {
		l.fault(o, "operationId is not camelCase")
	}
	if o.Summary == "" || strings.HasSuffix(o.Summary, ".") || len(o.Summary) > 120 {
		l.fault(o, "summary %q: want one line without a full stop", o.Summary)
	}
	if !strings.HasSuffix(strings.TrimSpace(o.Description), ".") {
		l.fault(o, "description %q: want sentences", o.Description)
	}
	if _, err := ownProblems(o.Operation); err != nil {
		l.fault(o, "%v", err)
	}
	if len(o.Tags) != 1 {
		l.fault(o, "has %d tags, want one", len(o.Tags))
	}
	want := "#/components/responses/Problem"
	if o.foreign() {
		want = "#/components/responses/PrometheusError"
	}
	if r := o.Responses.Default(); r == nil || r.Ref != want {
		l.fault(o, "default response is not the problem document")
	}
	if public(o.Operation) && o.Tags[0] != "service" && !strings.HasPrefix(o.path, "/api/v1/sign-in") {
		l.fault(o, "needs no token")
	}
	for _, list := range []openapi3.Parameters{o.Parameters, o.item.Parameters} {
		for _, p := range list {
			l.parameter(o, p.Value)
		}
	}
	l.answers(o)
	l.conventions(o)
}

func (l *lint) parameter(o operation, p *openapi3.Parameter) {
	if p.In == "query" && !snake.MatchString(p.Name) && !o.foreign() {
		l.fault(o, "parameter %s is not snake_case", p.Name)
	}
	if p.Description == "" {
		l.fault(o, "parameter %s has no description", p.Name)
	}
	if p.In == "path" && p.Example == nil {
		l.fault(o, "parameter %s has no example", p.Name)
	}
	if s := p.Schema.Value; s.Type.Is("string") && !bounded(s) {
		l.fault(o, "parameter %s is text without a bound", p.Name)
	}
}

// bounded reports whether the schema bounds a text's length or form.
func bounded(s *openapi3.Schema) bool {
	return len(s.Enum) > 0 || s.Pattern != "" || s.MaxLength != nil || s.Format != ""
}

func (l *lint) answers(o operation) {
	good := 0
	for code, r := range o.Responses.Map() {
		if code == "default" {
			continue
		}
		if strings.HasPrefix(code, "2") || strings.HasPrefix(code, "3") {
			good++
		}
		if r.Value.Description == nil || *r.Value.Description == "" {
			l.fault(o, "answer %s has no description", code)
		}
		for kind, media := range r.Value.Content {
			if media.Example == nil {
				l.fault(o, "answer %s of %s has no example", code, kind)
			}
		}
		media := r.Value.Content.Get("application/json")
		if media == nil || media.Schema.Value.Properties["items"] == nil {
			continue
		}
		if o.param("query", "limit") == nil || o.param("query", "cursor") == nil || media.Schema.Value.Properties["next_cursor"] == nil {
			if !l.excused("pages", o) {
				l.fault(o, "answers a list without limit, cursor and next_cursor")
			}
		}
	}
	if good == 0 {
		l.fault(o, "has no good answer")
	}
}

func (l *lint) conventions(o operation) {
	if !o.write() {
		return
	}
	if o.param("query", "dry_run") == nil && !l.excused("dry_run", o) {
		l.fault(o, "changes things without dry_run")
	}
	if o.method == http.MethodPost && o.param("header", "Idempotency-Key") == nil && !l.excused("Idempotency-Key", o) {
		l.fault(o, "creates things without Idempotency-Key")
	}
	if o.method != http.MethodPost && o.param("header", "If-Match") == nil && !l.excused("If-Match", o) {
		l.fault(o, "changes a thing without If-Match")
	}
	if o.RequestBody == nil {
		return
	}
	body := o.RequestBody.Value
	if !body.Required && !l.excused("body", o) {
		l.fault(o, "body is not required")
	}
	for kind, media := range body.Content {
		if media.Example == nil {
			l.fault(o, "body has no example")
		}
		if kind == "application/json" {
			l.input(o, "body", media.Schema, nil)
		}
	}
}

// input requires bounds in requests: no unknown fields, nothing unbounded.
func (l *lint) input(o operation, at string, ref *openapi3.SchemaRef, seen []*openapi3.Schema) {
	s := ref.Value
	if slices.Contains(seen, s) {
		return
	}
	seen = append(seen, s)
	switch {
	case s.Type.Is("object"):
		if s.AdditionalProperties.Has == nil || *s.AdditionalProperties.Has {
			l.fault(o, "%s takes fields that are not in the contract", at)
		}
		for name, p := range s.Properties {
			l.input(o, at+"/"+name, p, seen)
		}
	case s.Type.Is("array"):
		if s.MaxItems == nil {
			l.fault(o, "%s may have any number of entries", at)
		}
		l.input(o, at+"/*", s.Items, seen)
	case s.Type.Is("string") && !bounded(s):
		l.fault(o, "%s is text without a bound", at)
	case (s.Type.Is("integer") || s.Type.Is("number")) && s.Min == nil:
		l.fault(o, "%s is a number without a least value", at)
	}
}

// named is a place in the schemas.
type named string

func (n named) String() string { return string(n) }

func (l *lint) schemas(doc *openapi3.T) {
	for name, ref := range doc.Components.Schemas {
		_ = ref.WalkSubtree(func(_ string, s *openapi3.SchemaRef) error {
			for field, p := range s.Value.Properties {
				at := named("schema " + name + " field " + field)
				if !snake.MatchString(field) && name != "PrometheusAnswer" {
					l.fault(at, "is not snake_case")
				}
				number := p.Value.Type != nil && (p.Value.Type.Is("integer") || p.Value.Type.Is("number"))
				if number && measured.MatchString(field) && !united.MatchString(field) && !slices.Contains(unitless, field) {
					l.fault(at, "is a quantity without a unit in its name")
				}
			}
			return nil
		})
	}
}

func (l *lint) tags(doc *openapi3.T) {
	used := map[string]bool{}
	for _, o := range operationsOf(doc) {
		for _, t := range o.Tags {
			used[t] = true
			if doc.Tags.Get(t) == nil {
				l.fault(o, "tag %s is not in the list of tags", t)
			}
		}
	}
	for _, t := range doc.Tags {
		if t.Description == "" {
			l.fault(named("tag "+t.Name), "has no description")
		}
		if !used[t.Name] {
			l.fault(named("tag "+t.Name), "is not used")
		}
	}
}

func lintContract(doc *openapi3.T) []string {
	l := &lint{used: map[string]bool{}}
	ids := map[string]bool{}
	for _, o := range operationsOf(doc) {
		if ids[o.OperationID] {
			l.fault(o, "operationId is taken")
		}
		ids[o.OperationID] = true
		l.operation(o)
	}
	l.schemas(doc)
	l.tags(doc)
	for rule, list := range exempt {
		for id := range list {
			if !l.used[rule+" "+id] {
				l.fault(named(id), "needs no exemption from %s", rule)
			}
		}
	}
	slices.Sort(l.faults)
	return l.faults
}

func TestTheContractKeepsItsOwnConventions(t *testing.T) {
	t.Parallel()
	sp := parsed(t)
	for _, f := range lintContract(sp.doc) {
		t.Error(f)
	}
}

// TestEveryExampleFitsItsSchema also checks that a wrong example is found.
func TestEveryExampleFitsItsSchema(t *testing.T) {
	t.Parallel()
	doc := document(t, contract)
	if err := doc.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	media := doc.Paths.Value("/api/v1/health").Get.Responses.Value("200").Value.Content.Get("application/json")
	media.Example = map[string]any{"status": "perhaps"}
	if err := doc.Validate(t.Context()); err == nil {
		t.Error("an example that does not fit was not found")
	}
}

func TestEverySchemaOfTheContractIsUsed(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"schemas", "parameters", "headers", "responses"} {
		for _, m := range regexp.MustCompile(`(?m)^    ([A-Za-z0-9]+):`).FindAllStringSubmatch(section(string(contract), kind), -1) {
			if !strings.Contains(string(contract), "#/components/"+kind+"/"+m[1]+`"`) {
				t.Errorf("component %s %s is not used", kind, m[1])
			}
		}
	}
}

// section returns one kind of components from the contract's text.
func section(text, kind string) string {
	_, rest, _ := strings.Cut(text, "\ncomponents:\n")
	_, rest, _ = strings.Cut(rest, "\n  "+kind+":\n")
	if end := regexp.MustCompile(`(?m)^  [a-zA-Z]`).FindStringIndex(rest); end != nil {
		return rest[:end[0]]
	}
	return rest
}

// TestTheLinterFindsFaults checks that each rule can fail.
func TestTheLinterFindsFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*openapi3.T)
		want  string
	}{
		"no problem":  {func(d *openapi3.T) { d.Paths.Value("/api/v1/fabrics").Get.Responses.Delete("default") }, "problem document"},
		"full stop":   {func(d *openapi3.T) { d.Paths.Value("/api/v1/fabrics").Get.Summary += "." }, "full stop"},
		"no pages":    {func(d *openapi3.T) { d.Paths.Value("/api/v1/fabrics").Get.Parameters = nil }, "list without limit"},
		"no dry run":  {func(d *openapi3.T) { d.Paths.Value("/api/v1/fabrics").Post.Parameters = nil }, "without dry_run"},
		"open":        {func(d *openapi3.T) { d.Paths.Value("/api/v1/fabrics").Get.Security = &openapi3.SecurityRequirements{} }, "needs no token"},
		"open object": {func(d *openapi3.T) { d.Components.Schemas["FabricCreate"].Value.AdditionalProperties.Has = nil }, "takes fields"},
		"endless list": {func(d *openapi3.T) {
			d.Components.Schemas["FlowSetUpdate"].Value.Properties["flows"].Value.MaxItems = nil
		}, "any number of entries"},
		"endless text": {func(d *openapi3.T) {
			d.Components.Schemas["Source"].Value.MaxLength, d.Components.Schemas["Source"].Value.Pattern = nil, ""
		}, "text without a bound"},
		"no unit": {func(d *openapi3.T) {
			p := d.Components.Schemas["TopologyLink"].Value.Properties
			p["rate"] = p["rate_bps"]
		}, "without a unit"},
		"two alike": {func(d *openapi3.T) { d.Paths.Value("/api/v1/fabrics").Get.OperationID = "createFabric" }, "is taken"},
	} {
		doc := document(t, contract)
		c.spoil(doc)
		if faults := strings.Join(lintContract(doc), "\n"); !strings.Contains(faults, c.want) {
			t.Errorf("%s: found %q, want %q", name, faults, c.want)
		}
	}
}
