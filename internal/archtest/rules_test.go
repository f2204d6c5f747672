package archtest

// rule says what one package, or a tree of packages when its path ends in "/...", may import
// of this module, and why. quantity, stats and ident are words that every package may use.
type rule struct {
	pkg    string
	may    []string
	reason string
}

const pureReason = "the pure model sits at the bottom: it must be usable, testable and hashable with no I/O and no wiring"

// rules is the import column of docs/architecture.md. The first match wins.
var rules = []rule{
	{"internal/quantity", nil, pureReason},
	{"internal/stats", nil, pureReason},
	{"internal/num", nil, pureReason},
	{"internal/disjoint", nil, pureReason},
	{"internal/phrase", nil, pureReason},
	{"subnet/ident", nil, pureReason},
	{"subnet", nil, pureReason},
	{"subnet/mad", nil, pureReason},
	{"internal/yamltree", nil, pureReason},
	{"subnet/topofile", []string{"internal/yamltree", "subnet"}, pureReason},
	{"subnet/inventory", []string{"internal/yamltree", "subnet", "subnet/topofile"}, pureReason},
	{"subnet/check", []string{"internal/disjoint", "internal/phrase", "subnet"}, pureReason},
	{"subnet/draw", []string{"subnet"}, pureReason},
	{"subnet/topogen", []string{"subnet"}, pureReason},
	{"ccconfig/ibcc", nil, pureReason},
	{"ccconfig/dcqcn", nil, pureReason},
	{"ccconfig/ecn", nil, pureReason},
	{"ccconfig/ibprofile", []string{"subnet", "ccconfig/ibcc"}, pureReason},
	{"ccconfig/ibprofile/profilefile", []string{"internal/yamltree", "ccconfig/ibprofile", "ccconfig/ibcc"}, pureReason},
	{"ccconfig/profile", []string{"internal/num", "ccconfig/dcqcn", "ccconfig/ecn"}, pureReason},
	{"ccconfig/nicparam", []string{"ccconfig/dcqcn"}, pureReason},
	{"ccconfig/dcbnl", []string{"ccconfig/nicparam"}, pureReason},
	{"ccconfig/niccount", nil, pureReason},
	{"ccconfig/prereq", []string{"internal/phrase"}, pureReason},
	{"ccconfig/rdmanl", nil, pureReason},
	{"ccconfig/adopt", []string{"ccconfig/nicparam", "ccconfig/niccount", "ccconfig/dcbnl", "ccconfig/ecn"}, pureReason},
	{"ccconfig/nicfiles", []string{"ccconfig/nicparam", "ccconfig/niccount", "ccconfig/adopt", "ccconfig/dcbnl"}, "the host's files are reached through the table of parameters; who serves them is elsewhere"},
	{"ccconfig/nicyang", []string{"ccconfig/nicparam", "internal/gnmid", "wrcc"}, "the module's paths and values are words between agents and managers; neither is known here"},
	{"agent", []string{"ccconfig/nicparam", "ccconfig/nicfiles", "ccconfig/niccount", "ccconfig/adopt", "ccconfig/nicyang", "internal/gnmid", "wrcc"}, "the agent touches no host itself: what does is behind interfaces it declares"},
	{"ccconfig/vfshare", []string{"ccconfig/nicparam", "ccconfig/nicfiles"}, "rates of functions are a way of the host's; who runs programs and opens sockets is elsewhere"},
	{"ccconfig/dms", []string{"ccconfig/nicparam", "ccconfig/nicfiles"}, "a client of one protocol as a way of the host's"},
	{"agent/host", []string{"agent", "ccconfig/nicparam", "ccconfig/nicfiles", "ccconfig/niccount", "ccconfig/adopt", "ccconfig/dcbnl", "ccconfig/dcqcn", "ccconfig/vfshare", "ccconfig/dms", "ccconfig/rdmanl"}, "the one package that touches a real host, behind the agent's interface"},
	{"wrcc", nil, pureReason},
	{"wrcc/p4info", []string{"wrcc"}, "the codec between table entries and P4Runtime's messages knows values, not connections"},
	{"tenants", nil, pureReason},
	{"tenants/tenantfile", []string{"internal/yamltree", "tenants", "subnet"}, pureReason},
	{"tenants/authz", []string{"tenants"}, "rights are decided from roles and memberships alone"},
	{"policy/fill", []string{"internal/disjoint"}, "sharing of capacities knows numbers, not fabrics"},
	{"policy", []string{"internal/num", "policy/fill", "internal/disjoint", "internal/phrase", "subnet", "ccconfig/ibcc", "ccconfig/ibprofile", "ccconfig/dcqcn", "ccconfig/ecn", "ccconfig/profile", "ccconfig/nicparam", "ccconfig/dcbnl", "ccconfig/niccount", "ccconfig/adopt", "wrcc", "tenants"}, "the compiler is a pure function of weights, fabric and flows"},
	{"policy/plantest", []string{"policy", "subnet", "subnet/topogen", "tenants", "ccconfig/ibcc"}, "generators shared by tests see the model only"},

	{"sim", nil, "the engine knows events, not fabrics"},
	{"sim/predict", []string{"internal/num", "sim"}, "the predictor sees RTT samples and a seed"},
	{"sim/cc", []string{"sim", "ccconfig/ibcc", "ccconfig/dcqcn", "wrcc", "sim/predict"}, "an algorithm sees its settings and the clock it is given"},
	{"sim/dci", []string{"sim/cc"}, "a switch between data centres decides; the fabric moves its packets"},
	{"sim/fabric", []string{"sim", "sim/cc", "subnet", "ccconfig/ibcc", "ccconfig/ibprofile"}, "the simulated fabric moves packets; it does not know who manages it"},
	{"sim/ether", []string{"sim", "sim/cc", "sim/dci", "subnet", "wrcc"}, "the simulated Ethernet fabric moves packets; it does not know who manages it"},
	{"sim/workload", []string{"internal/num", "sim"}, "traffic is made from options and a seed; it does not know what carries it"},
	{"sim/record", nil, "result files hold values; they do not know which simulator computed them"},
	{"sim/scenario", []string{"internal/yamltree", "sim", "sim/...", "subnet", "subnet/...", "tenants", "tenants/...", "ccconfig/ibcc", "wrcc", "policy"}, "scenarios build simulations from pure values"},
	{"sim/reproduce", []string{"sim", "sim/...", "subnet", "subnet/...", "ccconfig/ibcc", "policy", "tenants", "wrcc"}, "experiments build simulations and plans from pure values"},
	{"sim/calibrate", []string{"sim", "sim/...", "subnet", "subnet/topogen", "ccconfig/dcqcn", "ccconfig/ecn", "ccconfig/profile"}, "a calibration runs the simulator and fits what it gave"},
	{"sim/evaluate", []string{"sim", "sim/...", "subnet", "subnet/topogen", "ccconfig/...", "policy", "tenants", "wrcc"}, "an evaluation compiles random cases and sets the simulator against the prediction"},
	{"sim/simdev", []string{"sim", "sim/fabric", "sim/pace", "subnet", "subnet/mad", "ccconfig/ibcc"}, "simulated devices answer protocols from simulated state; a manager must not be able to tell"},

	{"sim/pace", nil, "a clock knows what it runs by three methods"},
	{"sim/tenantnet", []string{"ccconfig/dcqcn", "sim/ether", "subnet", "tenants", "wrcc"}, "tenants' queue pairs become flows of the simulator; it does not depend on its callers"},
	{"sim/etherlive", []string{"sim/cc", "sim/ether", "sim/pace", "sim/plane", "sim/faults", "sim/tenantnet", "sim/p4dev", "subnet", "tenants", "ccconfig/dcqcn", "ccconfig/ecn", "wrcc", "wrcc/p4info"}, "a live fabric gives simulated devices their data planes; it does not know which protocols they answer"},
	{"sim/plane", []string{"ccconfig/dcqcn", "ccconfig/ecn", "wrcc"}, "values between simulated devices and the fabric that moves their packets; neither side knows the other"},
	{"sim/faults", nil, "what goes wrong with messages does not depend on what they say"},
	{"sim/gnmidev", []string{"agent", "sim/faults", "sim/plane", "internal/gnmid", "ccconfig/nicyang", "ccconfig/nicparam", "ccconfig/nicfiles", "ccconfig/niccount", "ccconfig/dcbnl", "ccconfig/dcqcn", "ccconfig/ecn", "wrcc"}, "simulated switches and hosts answer gNMI from tables and by the shipped agent; what moves packets is behind an interface they declare"},
	{"sim/p4dev", []string{"sim/faults", "wrcc", "wrcc/p4info"}, "simulated switches answer P4Runtime from tables; what forwards packets is behind an interface they declare"},

	{"internal/grpclink", []string{"ccconfig/driver"}, "connections to devices, whatever is said on them"},
	{"internal/servertls", nil, "certificates in files, whoever listens with them"},
	{"internal/gnmid/gnmidtest", []string{"internal/peertest"}, "drives targets with a client that is not ours"},
	{"internal/gnmid", []string{"internal/servertls"}, "a gNMI server knows trees, not what they are about"},

	{"ccconfig/driver", []string{"internal/phrase", "subnet", "ccconfig/ibcc", "ccconfig/dcqcn", "ccconfig/nicparam", "ccconfig/ecn", "ccconfig/prereq", "wrcc"}, "the device contract speaks the pure model"},
	{"ccconfig/driver/drivertest", []string{"ccconfig/driver", "subnet", "ccconfig/ibcc", "ccconfig/dcqcn", "ccconfig/ecn", "ccconfig/nicparam", "wrcc"}, "the conformance suite knows the contract only"},
	{"ccconfig/ibmad", []string{"ccconfig/driver", "ccconfig/prereq", "ccconfig/ibcc", "subnet", "subnet/mad"}, "an adapter imports its port, the pure model and one protocol"},
	{"wrcc/p4rt", []string{"ccconfig/driver", "wrcc", "wrcc/p4info", "internal/grpclink"}, "an adapter imports its port, the pure model and one protocol"},
	{"ccconfig/gnmi", []string{"internal/phrase", "ccconfig/driver", "ccconfig/prereq", "ccconfig/ecn", "ccconfig/nicparam", "ccconfig/niccount", "ccconfig/nicyang", "subnet", "wrcc", "internal/gnmid", "internal/grpclink"}, "an adapter imports its port, the pure model and one protocol, whose paths and values gnmid has"},
	{"subnet/madlink", []string{"subnet/mad"}, "which answer belongs to which request, whatever carries them"},
	{"subnet/ibsim", []string{"subnet/mad", "subnet/madlink"}, "a transport moves datagrams"},
	{"subnet/umad", []string{"subnet/mad", "subnet/madlink"}, "a transport moves datagrams"},
	{"subnet/umad/umadtest", []string{"subnet/mad"}, "a fake device file, for tests"},
	{"internal/smfile", []string{"internal/yamltree"}, "who manages a subnet is read here, and told of partitions elsewhere"},
	{"subnet/ufm/ufmtest", nil, "a server for tests, whoever asks it"},
	{"subnet/ufm", nil, "a client of one REST API moves partitions; which are wanted is decided elsewhere"},
	{"subnet/ibsim/ibsimtest", []string{"internal/peertest", "subnet/ibsim", "subnet/mad", "subnet"}, "test helper of the transport"},
	{"subnet/subnettest", []string{"subnet", "subnet/topogen", "subnet/topofile"}, "fabrics for tests"},
	{"subnet/discover", []string{"internal/phrase", "subnet", "subnet/mad"}, "the sweep turns answers into the model"},

	{"subnet/opensm/osmfile", nil, pureReason},
	{"subnet/opensm", []string{"subnet/opensm/osmfile", "subnet", "subnet/mad", "policy"}, "an adapter imports the pure model and one protocol; what a plan wants is all it knows of the compiler"},

	{"internal/telemetry", []string{"internal/phrase", "subnet", "subnet/mad", "ccconfig/driver", "ccconfig/ibcc", "tenants", "policy"}, "telemetry turns counters into shares"},
	{"internal/reconcile/engine", []string{"internal/span", "internal/reconcile", "internal/control", "subnet", "ccconfig/driver", "policy"}, "the workers of rollouts know rows and devices through interfaces"},
	{"internal/reconcile/riverwork", []string{"internal/span", "internal/control"}, "the queue moves jobs; it does not know what they are about"},
	{"internal/reconcile", []string{"internal/span", "internal/disjoint", "subnet", "ccconfig/driver", "ccconfig/ibcc", "ccconfig/dcqcn", "ccconfig/nicparam", "ccconfig/prereq", "wrcc", "tenants", "policy"}, "the rollout sees devices through the one contract"},
	{"internal/audit", nil, "the chain of the audit log is arithmetic: whoever checks it needs no database"},
	{"internal/control", []string{"internal/phrase", "internal/span", "internal/reconcile", "internal/audit", "subnet", "subnet/topofile", "ccconfig/driver", "ccconfig/ibcc", "ccconfig/ibprofile", "tenants", "policy"}, "use cases see the pure model and interfaces they declare, never an adapter"},
	{"internal/control/controltest", []string{"internal/phrase", "internal/control", "internal/reconcile", "internal/reconcile/engine", "subnet", "subnet/...", "policy", "tenants", "ccconfig/driver", "ccconfig/ibcc"}, "fakes of what the use cases need"},
	{"internal/openid", []string{"internal/control", "tenants"}, "sign-in at a provider speaks one protocol and our words for roles"},
	{"internal/openid/openidtest", []string{"internal/peertest"}, "starts a real provider for tests"},
	{"migrations", nil, "embedded SQL"},
	{"internal/store/pgtest", []string{"internal/peertest"}, "starts a real PostgreSQL for tests"},
	{"internal/store", []string{"internal/audit", "migrations", "subnet", "subnet/topofile", "ccconfig/driver", "ccconfig/ibcc", "tenants", "policy", "internal/control"}, "repositories return domain types"},
	{"internal/i18n", []string{"internal/phrase"}, "catalogues"},
	{"internal/config", []string{"internal/yamltree"}, "the table of settings knows no service"},
	{"internal/span", nil, "a span is made from the context alone"},
	{"internal/obs", []string{"internal/span"}, "metrics, logs and traces know numbers and names, not the service"},
	{"internal/servetest", []string{"internal/app"}, "runs managers as processes for tests"},
	{"internal/peertest", nil, "what becomes of tests whose peers are missing"},
	{"internal/fusetest", nil, "a check that tests of pure packages call"},
	{"internal/grpctest", nil, "servers and clients of tests, whatever they say"},
	{"internal/tlstest", nil, "certificates for tests, whoever shows them"},
	{"internal/plot", nil, "charts know numbers and units, not simulations"},
	{"api", []string{"internal/span", "api/gen", "api/reference", "internal/control", "tenants/authz", "internal/audit", "subnet", "subnet/topofile", "tenants", "policy", "ccconfig/driver", "ccconfig/ibcc", "ccconfig/ecn", "wrcc"}, "edges translate and authenticate; never a store, never an adapter"},
	{"api/gen", []string{"internal/phrase"}, "generated from the contract"},
	{"docs", nil, "pages of words, embedded"},
	{"api/reference", []string{"docs", "internal/i18n"}, "the pages about the API are made of the contract and of words"},
	{"internal/cli/manifest", []string{"internal/yamltree", "tenants"}, "files of resources are read without a service"},
	{"internal/cli", []string{"internal/cli/manifest", "api", "internal/audit", "api/gen", "internal/i18n", "internal/phrase", "tenants", "tenants/tenantfile", "subnet", "subnet/topofile"}, "remote commands know the API client only"},

	{"internal/sdnotify", nil, "systemd is told states; it does not know whose"},
	{"internal/agentapp", []string{"agent", "agent/host", "ccconfig/nicparam", "ccconfig/nicyang", "internal/gnmid", "internal/servertls", "internal/sdnotify", "internal/i18n", "internal/yamltree"}, "wiring of the host agent, which runs on every host and knows no manager"},
	{"cmd/fairlane-agent", []string{"internal/agentapp"}, "main is a shell"},
	{"internal/app", []string{"*"}, "wiring"},
	{"internal/archtest", nil, "reads source, imports nothing"},
	{"cmd/fairlane", []string{"internal/app"}, "main is a shell"},
	{"test/interop", []string{"*"}, "tests with the field's own tools"},
	{"test/script", []string{"*"}, "tests that run the built command"},
	{"test/kill", []string{"*"}, "tests that kill real managers"},
	{"test/attack", []string{"*"}, "an attack on real managers"},
	{"test/docs", []string{"*"}, "tests that keep the pages of docs true"},
}

// pure lists the packages with no clock, no I/O and no unseeded randomness.
var pure = []string{
	"internal/quantity", "internal/stats", "internal/num", "internal/disjoint", "internal/audit", "internal/yamltree", "subnet/ident", "subnet", "subnet/mad", "subnet/topofile", "subnet/inventory", "subnet/topogen", "subnet/check", "subnet/draw", "subnet/opensm/osmfile",
	"ccconfig/ibcc", "ccconfig/ibprofile", "ccconfig/dcqcn", "ccconfig/ecn", "ccconfig/profile", "wrcc", "wrcc/p4info", "tenants", "tenants/tenantfile", "policy", "policy/fill", "sim", "sim/predict", "sim/cc", "sim/dci", "sim/fabric", "sim/ether", "sim/plane", "sim/faults", "sim/tenantnet", "sim/workload", "sim/reproduce", "sim/evaluate",
}

// only maps a library to the packages that may import it, and why.
var only = map[string]struct {
	in     []string
	reason string
}{
	"gorm.io/":                      {[]string{"internal/store"}, "gorm stays behind the repositories"},
	"github.com/glebarez/":          {[]string{"internal/store"}, "the database driver stays behind the repositories"},
	"github.com/gin-gonic/":         {[]string{"api", "api/gen"}, "gin stays at the edge"},
	"github.com/coreos/go-oidc":     {[]string{"internal/openid"}, "tokens of a provider are judged in one place"},
	"golang.org/x/oauth2":           {[]string{"internal/openid"}, "tokens of a provider are judged in one place"},
	"github.com/casbin/":            {[]string{"tenants/authz"}, "rights are decided in one place"},
	"github.com/riverqueue/":        {[]string{"internal/reconcile/riverwork", "internal/app"}, "jobs are worked by the reconciler"},
	"github.com/pressly/goose":      {[]string{"internal/store", "migrations"}, "migrations run in the store"},
	"gonum.org/v1/plot":             {[]string{"internal/plot"}, "charts are drawn in one place, in one style"},
	"github.com/prometheus/":        {[]string{"internal/obs"}, "metrics are registered in one table"},
	"go.opentelemetry.io/":          {[]string{"internal/span", "internal/obs", "internal/app", "api"}, "spans are made through internal/span"},
	"github.com/spf13/cobra":        {[]string{"internal/cli", "internal/app", "internal/agentapp"}, "the command line is an edge"},
	"github.com/p4lang/":            {[]string{"wrcc/p4info", "wrcc/p4rt", "sim/p4dev"}, "P4Runtime is spoken by one driver and by its simulated switches"},
	"github.com/getkin/kin-openapi": {[]string{"api", "api/gen", "api/reference"}, "the contract is enforced at the edge"},
}
