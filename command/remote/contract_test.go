package remote

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"fairlane/service/control/controltest"
	"fairlane/subnet/topofile"
)

// reach maps each operation of the contract to a command line that calls it. FILE is a file of tenants, SECRET a file
// with a secret, DIR a new folder. An operation that no command can call has "!" and the reason in place
// of a command.
func reach() map[string]string {
	return map[string]string{
		"getHealth": "status", "getReady": "status", "getVersion": "status",
		"listSignInMethods": "login --methods",
		"signIn":            "login --user ada --password-file SECRET", "signOut": "login --user ada --password-file SECRET",
		"getSeriesMetadata": "series list", "queryInstantByForm": "series query up", "queryRangeByForm": "series query up --since 1h",
		"queryInstant": forPrometheus, "queryRange": forPrometheus, "findLabels": forPrometheus, "findLabelsByForm": forPrometheus, "findLabelValues": forPrometheus,
		"findSeries": forPrometheus, "findSeriesByForm": forPrometheus, "getSeriesBuild": forPrometheus, "listRules": forPrometheus, "listAlerts": "alert list",
		"listObjectives": "objective list", "putDefaultObjective": "objective set --target 0.9", "deleteDefaultObjective": "objective delete",
		"putObjective": "objective set red --target 0.9", "deleteObjective": "objective delete red",
		"getOverview": forPages, "getMap": forPages, "getMapMatrix": forPages, "getPath": forPages, "getTenantNow": forPages, "search": forPages,
		"extendSession": "!the command line has no session that ends by idleness",
		"startOidc":     "!signing in through a provider needs a browser; login --methods prints the address",
		"finishOidc":    "!address to which the provider redirects the browser",
		"getMe":         "whoami", "changePassword": "password --user ada --password-file SECRET --new-password-file SECRET",
		"listMyTokens": "token list", "createMyToken": "token create x", "deleteMyToken": "token delete x",
		"listRoles": "role list", "listUsers": "user list", "createUser": "user create ada", "getUser": "user show ada",
		"updateUser": "user set ada --disable", "deleteUser": "user delete ada",
		"listFabricMembers": "member list", "putFabricMember": "member set ada --role operator", "deleteFabricMember": "member delete ada",
		"listMembers": "member list --tenant red", "putMember": "member set ada --tenant red", "deleteMember": "member delete ada --tenant red",
		"listServiceAccounts": "service-account list", "createServiceAccount": "service-account create ci --role operator",
		"deleteServiceAccount":       "service-account delete ci",
		"listServiceAccountTokens":   "token list --service-account ci",
		"createServiceAccountToken":  "token create x --service-account ci",
		"deleteServiceAccountToken":  "token delete x --service-account ci",
		"listTenantServiceAccounts":  "service-account list --tenant red",
		"createTenantServiceAccount": "service-account create ci --role tenant-admin --tenant red", "deleteTenantServiceAccount": "service-account delete ci --tenant red",
		"listTenantServiceAccountTokens":  "token list --service-account ci --tenant red",
		"createTenantServiceAccountToken": "token create x --service-account ci --tenant red",
		"deleteTenantServiceAccountToken": "token delete x --service-account ci --tenant red",
		"listFabrics":                     "fabric list", "createFabric": "fabric create lab --source ibsim:unix:x", "getFabric": "fabric show lab",
		"updateFabric": "fabric set lab --time-scale 2", "deleteFabric": "fabric delete lab", "discoverFabric": "fabric discover lab",
		"listSnapshots": "fabric snapshots lab", "listEvents": "fabric events", "streamEvents": "fabric events --follow --count 1",
		"getTopology": "topology show", "getTopologyFile": "topology export", "getTiers": "topology tiers", "listLinks": "topology links",
		"listTenants": "tenant list", "createTenant": "tenant create red --weight 1", "applyTenants": "tenant apply -f FILE", "getTenant": "tenant show red",
		"updateTenant": "tenant set red --weight 2", "deleteTenant": "tenant delete red",
		"listAttachments": "attachment list --tenant red", "addAttachment": "attachment add h1 --tenant red", "getAttachment": "attachment show h1 --tenant red",
		"putAttachment": "attachment set h1 --tenant red --sl 2", "deleteAttachment": "attachment delete h1 --tenant red",
		"listEndpoints": "tenant endpoints red",
		"listFeeds":     "feed list", "getFeed": "feed show x --tenant red", "deleteFeed": "feed delete x --tenant red",
		"putFeed":     "!the set of ports comes from the system that claims them, not from a person",
		"listClasses": "class list --tenant red", "addClass": "class add bulk --tenant red --weight 1", "getClass": "class show bulk --tenant red",
		"putClass": "class set bulk --tenant red --weight 2", "deleteClass": "class delete bulk --tenant red",
		"getFlows": "flow list", "putFlows": "flow set -f FLOWS",
		"listBaseline":  "baseline list",
		"releaseFabric": "fabric release lab", "manageFabric": "fabric manage lab",
		"listPolicies": "policy list", "getPolicy": "policy show 1", "diffPolicies": "policy diff 2 --against 1", "restorePolicy": "policy restore 1",
		"labelPolicy": "policy label 1 --label x", "getOptions": "option show", "putOptions": "option set --mode product",
		"listPlans": "plan list", "createPlan": "plan create", "getPlan": "plan show 3f9a61c2", "whatIf": "plan what-if --edit weight:red=8", "admitTenant": "plan admit --tenant green --weight 1 --ports h1,h2",
		"diffPlans": "plan diff 3f9a61c2", "explainPlan": "plan explain 3f9a61c2",
		"listRollouts": "rollout list", "startRollout": "rollout start --plan 3f9a61c2", "getRollout": "rollout show 1", "listRolloutEvents": "rollout watch 1",
		"cancelRollout": "rollout cancel 1", "pauseRollout": "rollout pause 1", "resumeRollout": "rollout resume 1", "confirmRollout": "rollout confirm 1",
		"rollBackRollout": "rollout roll-back 1",
		"listDevices":     "device list",
		"getDevice":       "device show h1", "getDeviceCapabilities": "device capabilities h1", "updateDevice": "device set h1 --policy freeze", "repairDevice": "device repair h1", "releaseDevice": "device release h1",
		"getDriftPolicy": "drift-policy show", "putDriftPolicy": "drift-policy set --policy repair",
		"getShares": "share show", "listShares": "share history", "measureShares": "share measure",
		"listSimulations": "simulation list", "startSimulation": "simulation start --plan 3f9a61c2", "getSimulation": "simulation show 1", "cancelSimulation": "simulation cancel 1",
		"listCalibrations": "calibration list", "startCalibration": "calibration start --profile x", "getCalibration": "calibration show 1", "cancelCalibration": "calibration cancel 1",
		"listSilences": "alert silence list", "addSilence": "alert silence add alertname=A --for 1h --comment x", "expireSilence": "alert silence expire 1",
		"listMaintenance": "maintenance list", "addMaintenance": "maintenance add --start 2026-12-01T20:00:00Z --for 1h --text x", "getMaintenance": "maintenance show m-0a1b2c3d4e5f",
		"putMaintenance": "maintenance set m-0a1b2c3d4e5f --text x", "cancelMaintenance": "maintenance cancel m-0a1b2c3d4e5f", "listTenantMaintenance": "maintenance list --tenant red",
		"listAudit": "audit list", "verifyAudit": "audit verify", "getSettings": "settings show", "getDoctor": "settings doctor", "putSettings": "settings set --task-limit 5",
	}
}

// operation is the part of an operation in the contract that this test needs.
type operation struct {
	id, method string
	path       *regexp.Regexp
	success    int
	media      string // of the success
	dryRun     bool
	ifMatch    bool
}

// contract reads the operations of the contract.
func contract(t *testing.T) []operation {
	t.Helper()
	text, err := os.ReadFile("../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	type parameter struct {
		Ref  string `yaml:"$ref"`
		Name string `yaml:"name"`
	}
	var doc struct {
		Paths map[string]map[string]struct {
			ID         string      `yaml:"operationId"`
			Parameters []parameter `yaml:"parameters"`
			Responses  map[string]struct {
				Content map[string]any `yaml:"content"`
			} `yaml:"responses"`
		} `yaml:"paths"`
	}
	_ = yaml.Unmarshal(text, &doc) // the error is that parameters of a whole path are a list; they are not needed
	var out []operation
	for path, methods := range doc.Paths {
		pattern := regexp.MustCompile("^" + regexp.MustCompile(`\\\{[a-z_]+\\\}`).ReplaceAllString(regexp.QuoteMeta(path), "[^/]+") + "$")
		for method, x := range methods {
			if x.ID == "" {
				continue
			}
			o := operation{id: x.ID, method: strings.ToUpper(method), path: pattern}
			for _, p := range x.Parameters {
				o.dryRun = o.dryRun || strings.HasSuffix(p.Ref, "/DryRun")
				o.ifMatch = o.ifMatch || strings.HasSuffix(p.Ref, "/IfMatch")
			}
			for code, r := range x.Responses {
				if n, err := strconv.Atoi(code); err == nil && n < 300 && n > o.success {
					o.success = n
					for media := range r.Content {
						o.media = media
					}
				}
			}
			out = append(out, o)
		}
	}
	if len(out) < 100 {
		t.Fatalf("%d operations found", len(out))
	}
	return out
}

// recorder answers each operation with the minimum that the contract allows, and records the calls.
type recorder struct {
	t    *testing.T
	all  []operation
	topo []byte

	mu   sync.Mutex
	seen map[string]bool
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	for _, o := range r.all {
		// Paths with fixed names come before those with parameters.
		if o.method != req.Method || !o.path.MatchString(req.URL.EscapedPath()) || o.id == "getPlan" && (strings.HasSuffix(req.URL.Path, "/what-if") || strings.HasSuffix(req.URL.Path, "/admit")) {
			continue
		}
		r.mu.Lock()
		r.seen[o.id] = true
		r.mu.Unlock()
		w.Header().Set("ETag", `"1"`)
		w.Header().Set("Content-Type", o.media)
		w.WriteHeader(o.success)
		switch {
		case o.id == "getTopologyFile":
			_, _ = w.Write(r.topo)
		case o.media == "text/event-stream":
			_, _ = io.WriteString(w, ": events follow\n\nid: 1\nevent: x\ndata: {\"id\":1}\n\n")
		case o.success != http.StatusNoContent:
			_, _ = io.WriteString(w, "{}")
		}
		return
	}
	r.t.Errorf("%s %s is not in the contract", req.Method, req.URL.Path)
	w.WriteHeader(http.StatusNotFound)
}

// forPrometheus is the reason why some operations have no command.
const forPrometheus = "!for clients of Prometheus, such as Grafana; series query sends a form"

func TestEveryOperationIsReachedByACommand(t *testing.T) {
	t.Parallel()
	star, err := controltest.Star()
	if err != nil {
		t.Fatal(err)
	}
	var topo bytes.Buffer
	if err := topofile.WriteYAML(&topo, star); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	words := map[string]string{
		"FILE": file("tenants.yaml", "version: 1\ntenants:\n  - {name: red, weight: 1}\n"), "FLOWS": file("flows.yaml", "version: 1\nflows: []\n"),
		"SECRET": file("secret", "correct horse battery\n"),
	}
	all, table := contract(t), reach()
	for _, o := range all {
		line, ok := table[o.id]
		delete(table, o.id)
		switch {
		case !ok:
			t.Errorf("operation %s has no command: add one, and a line to this test", o.id)
			continue
		case strings.HasPrefix(line, "!"):
			continue
		}
		t.Run(o.id, func(t *testing.T) {
			t.Parallel()
			r := &recorder{t: t, all: all, topo: topo.Bytes(), seen: map[string]bool{}}
			server := httptest.NewServer(r)
			defer server.Close()
			env := map[string]string{"FAIRLANE_URL": server.URL, "FAIRLANE_TOKEN": "t", "FAIRLANE_FABRIC": "lab", "FAIRLANE_CREDENTIALS": filepath.Join(t.TempDir(), "credentials")}
			args := strings.Fields(line)
			for i, a := range args {
				if w := words[a]; w != "" {
					args[i] = w
				}
			}
			cmd, _, words := asks(env, args...)
			target, _, err := cmd.Find(args)
			if err != nil {
				t.Fatal(err)
			}
			if IsDestructive(target) {
				cmd.SetArgs(append(args, "--yes"))
			} else if o.method == http.MethodDelete && o.id != "expireSilence" { // expiring a silence only resumes notifications
				t.Errorf("%s deletes, but %q does not ask for confirmation: want remote.Destroys", o.id, line)
			}
			runErr := cmd.ExecuteContext(t.Context())
			if !r.seen[o.id] {
				t.Errorf("%q does not call %s but %v: %v\n%s", line, o.id, slices.Sorted(maps.Keys(r.seen)), runErr, words)
			}
			for flag, wanted := range map[string]bool{"dry-run": o.dryRun, "if-match": o.ifMatch} {
				if wanted && target.Flags().Lookup(flag) == nil {
					t.Errorf("operation %s accepts %s, but the command %q has no --%s", o.id, flag, line, flag)
				}
			}
		})
	}
	for id := range table {
		t.Errorf("%s is not an operation of the contract", id)
	}
}

// TestEveryCommandHasAnOperation finds commands that are missing in the table above.
func TestEveryCommandHasAnOperation(t *testing.T) {
	t.Parallel()
	lines := slices.Collect(maps.Values(reach()))
	others := []string{ // these combine several operations, which have their own commands
		"tenant export", "baseline show", "baseline diff", "device drift", "device known", "audit export", "logout", "simulation watch", "calibration watch", "apply", "share watch", "share report",
	}
	for _, cmd := range leaves() {
		name := called(cmd)
		if !slices.ContainsFunc(append(lines, others...), func(line string) bool { return line == name || strings.HasPrefix(line, name+" ") }) {
			t.Errorf("the table has no operation for the command %q", name)
		}
	}
}

// leaves returns the commands without subcommands, in the order of help.
func leaves() []*cobra.Command {
	var out []*cobra.Command
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		if !cmd.HasSubCommands() {
			out = append(out, cmd)
		}
	}
	walk(root(Options{Getenv: func(string) string { return "" }, Args: []string{}}))
	return out
}

// called returns the command line of a command without the program's name.
func called(cmd *cobra.Command) string { return strings.TrimPrefix(cmd.CommandPath(), "fairlane ") }

// forPages is the reason why operations that gather figures for a page have no command.
const forPages = "!gathers for one page of a browser what several commands print"
