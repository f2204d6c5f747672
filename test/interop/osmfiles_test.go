package interop

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlane/sim/fabric"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/ibsim"
	"fairlane/subnet/ibsim/ibsimtest"
	"fairlane/subnet/ident"
	sm "fairlane/subnet/opensm"
	"fairlane/subnet/opensm/osmfile"
)

// managed is an OpenSM with its own files, and the manager of these files.
type managed struct {
	*ibsimtest.SM

	l       *lab
	client  *ibsim.Client
	manager *sm.Manager
}

func (o *managed) read(name string) string {
	o.l.t.Helper()
	data, err := os.ReadFile(o.Path(name))
	if err != nil {
		o.l.t.Fatal(err)
	}
	return string(data)
}

func (o *managed) write(name, text string) {
	o.l.t.Helper()
	if err := os.WriteFile(o.Path(name), []byte(text), 0o600); err != nil {
		o.l.t.Fatal(err)
	}
}

// manage prepares an OpenSM on a host with the given files in addition to its options, and a manager that queries it
// from host 3.
func (l *lab) manage(at int, options string, files map[string]string, cfg sm.Config) *managed {
	l.t.Helper()
	o := &managed{SM: ibsimtest.NewSM(l.t, l.server.Addr(), host(at), ""), l: l}
	o.Options(fmt.Sprintf("partition_config_file %s\nqos_policy_file %s\n%s", o.Path("partitions.conf"), o.Path("qos-policy.conf"), options))
	for name, text := range files {
		o.write(name, text)
	}
	client, err := ibsim.Dial(l.t.Context(), l.server.Addr(), ibsim.Options{NodeID: host(3)})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = client.Close() }) // the fabric ends with the test
	cfg.Options = o.Path("opensm.conf")
	if cfg.ProofTimeout == 0 {
		cfg.ProofTimeout = subnetDeadline
	}
	if cfg.PortGUID == 0 { // the client is on another host, so Fairlane cannot determine the host of this OpenSM
		cfg.PortGUID = members(at)[0].PortGUID
	}
	o.client = client
	o.with(cfg)
	return o
}

// with replaces the manager by one with another configuration.
func (o *managed) with(cfg sm.Config) {
	o.l.t.Helper()
	m, err := sm.New(cfg, sm.Disk{}, sm.PIDFile{Path: o.Path("pid")}, o.client)
	if err != nil {
		o.l.t.Fatal(err)
	}
	o.manager = m
}

// start starts the OpenSM and waits for a text in its log.
func (o *managed) start(text string) *managed {
	o.l.t.Helper()
	o.Start(text)
	return o
}

// apply is Apply that must succeed.
func (o *managed) apply(d osmfile.Desired, a sm.ApplyOptions) sm.Report {
	o.l.t.Helper()
	r, err := o.manager.Apply(o.l.t.Context(), d, a)
	if err != nil {
		o.l.t.Fatalf("%v; steps %v", err, r.Steps)
	}
	return r
}

// hasSL queries the service level between two hosts in a partition with saquery, which is independent of Fairlane.
func (o *managed) hasSL(from, to int, pkey ident.PKey, want ident.SL) {
	o.l.t.Helper()
	out := o.l.run(host(2), "saquery", "PR", "--slid", o.l.lid(int32(from+1)), "--dlid", o.l.lid(int32(to+1)), "--pkey", pkey.String())
	wantMatch(o.l.t, out, fmt.Sprintf(`sl\.+0x%X$`, want), `(?i)pkey\.+`+pkey.String()+`$`)
}

// members returns the ports of hosts as full members.
func members(hosts ...int) []osmfile.Member {
	var out []osmfile.Member
	for _, h := range hosts {
		out = append(out, osmfile.Member{PortGUID: ident.GUID(0x100000 + 16*(h-1) + 1), Full: true})
	}
	return out
}

// goldAndSilver is the desired state in most tests.
func goldAndSilver() osmfile.Desired {
	return osmfile.Desired{Partitions: []osmfile.Partition{
		{Tenant: "gold", PKey: 1, SL: 2, IPoIB: true, Members: members(1, 2, 4)},
		{Tenant: "silver & söhne", PKey: 0x10, SL: 3, Members: members(2, 3)},
	}}
}

func coldLab(t *testing.T) *lab {
	return newLab(t, twoSwitches(t), fabric.Config{}, simdev.Options{SMMode: simdev.Cold, TimeScale: 1})
}

func TestTenantsGetTheirServiceLevelsFromOpenSM(t *testing.T) {
	t.Parallel()
	l := coldLab(t)
	o := l.manage(1, "", nil, sm.Config{Settings: osmfile.Settings{OneLane: true}}).start("SUBNET UP")
	want := goldAndSilver()
	for i := range 20 { // ports that do not exist, so that the members take several lines
		want.Partitions[1].Members = append(want.Partitions[1].Members, osmfile.Member{PortGUID: ident.GUID(0x200 + i)})
	}
	r := o.apply(want, sm.ApplyOptions{})
	if !r.Changed || r.RolledBack || len(r.Problems) != 0 || len(r.Proof.Unproven()) != 0 {
		t.Errorf("report %+v", r)
	}
	o.hasSL(1, 4, 0x8001, 2)
	o.hasSL(2, 3, 0x8010, 3)
	if out, err := l.try(host(2), "saquery", "PR", "--slid", l.lid(2), "--dlid", l.lid(4), "--pkey", "0x8010"); err == nil && strings.Contains(out, "sl..") {
		t.Errorf("host 1 is in silver's partition:\n%s", out)
	}
	wantMatch(t, l.run(host(3), "smpquery", "pkeys", l.lid(4)), `0: 0xffff 0x8010 0x0000`)
	if again := o.apply(want, sm.ApplyOptions{}); again.Changed || len(again.Steps) != 1 {
		t.Errorf("applied again: %+v", again.Steps)
	}
	t.Logf("proven after %d rounds of questions", r.Proof.Rounds)
}

// One tenant leaves, one is added, and one changes its service level: the first step removes nothing, the second
// removes the rest.
func TestTenantsComeAndGoInTwoSteps(t *testing.T) {
	t.Parallel()
	l := coldLab(t)
	o := l.manage(1, "", nil, sm.Config{}).start("SUBNET UP")
	o.apply(goldAndSilver(), sm.ApplyOptions{})
	next := osmfile.Desired{Partitions: []osmfile.Partition{
		{Tenant: "gold", PKey: 1, SL: 5, Members: members(2, 4)},
		{Tenant: "bronze", PKey: 0x20, SL: 1, Members: members(1, 3)},
	}}
	o.apply(next, sm.ApplyOptions{Phase: sm.PhasePrepare})
	o.hasSL(1, 4, 0x8001, 5) // host 1 is still a member
	o.hasSL(2, 3, 0x8010, 3)
	o.hasSL(1, 3, 0x8020, 1)
	r := o.apply(next, sm.ApplyOptions{Phase: sm.PhaseFinish})
	gone := slices.ContainsFunc(r.Proof.Partitions, func(p sm.PartitionProof) bool { return p.PKey == 0x10 && p.Absent && p.Holds })
	left := slices.ContainsFunc(r.Proof.Partitions, func(p sm.PartitionProof) bool { return p.PKey == 1 && p.Absent && p.Holds })
	if !gone || !left {
		t.Errorf("not verified as removed: %+v", r.Proof.Partitions)
	}
	wantMatch(t, l.run(host(3), "smpquery", "pkeys", l.lid(2)), `0: 0xffff 0x8020 0x0000|0: 0xffff 0x0000 0x8020`)
	o.apply(osmfile.Desired{}, sm.ApplyOptions{})
	wantMatch(t, l.run(host(3), "smpquery", "pkeys", l.lid(2)), `0: 0xffff 0x0000 0x0000`)
}

// A policy's default overrides every partition's service level. This is refused; when it is forced, verification finds
// it, and the files are restored.
func TestAnOverridingPolicyIsRefusedAndWhenForcedRolledBack(t *testing.T) {
	t.Parallel()
	l := coldLab(t)
	policy := "qos-ulps\n    default : 7 # the operator's\nend-qos-ulps\n"
	partitions := "# the operator's\nDefault=0x7fff,ipoib:ALL=full;\n"
	o := l.manage(1, "qos TRUE\n", map[string]string{"qos-policy.conf": policy, "partitions.conf": partitions},
		sm.Config{Settings: osmfile.Settings{LeavePolicy: true}, ProofTimeout: 2 * time.Second}).start("SUBNET UP")
	_, err := o.manager.Apply(t.Context(), goldAndSilver(), sm.ApplyOptions{})
	var refused *sm.RefusedError
	if !errors.As(err, &refused) || refused.Problems[0].Code != osmfile.CodePolicyDefault || len(refused.Differences) == 0 {
		t.Fatalf("error %v", err)
	}
	t.Log(err)
	if o.read("partitions.conf") != partitions {
		t.Error("refused, and written nevertheless")
	}
	r, err := o.manager.Apply(t.Context(), goldAndSilver(), sm.ApplyOptions{Force: []osmfile.Code{osmfile.CodePolicyDefault}})
	var failed *sm.FailedError
	if !errors.As(err, &failed) || failed.Step != sm.StepProve || !failed.RolledBack || !r.RolledBack {
		t.Fatalf("error %v, report %+v", err, r)
	}
	t.Log(err)
	if o.read("partitions.conf") != partitions || o.read("qos-policy.conf") != policy {
		t.Error("the files are not what they were")
	}
	wantMatch(t, l.run(host(3), "smpquery", "pkeys", l.lid(4)), `0: 0xffff 0x0000 0x0000`)
}

// With a line for each partition, the same policy works.
func TestAPolicyInForceGetsALineForEachTenant(t *testing.T) {
	t.Parallel()
	l := coldLab(t)
	policy := "# the operator's\nqos-ulps\n    default : 7\n    any, pkey 0x0001-0x0002 : 6\nend-qos-ulps\n"
	o := l.manage(1, "qos TRUE\n", map[string]string{"qos-policy.conf": policy}, sm.Config{}).start("SUBNET UP")
	o.apply(goldAndSilver(), sm.ApplyOptions{})
	o.hasSL(1, 4, 0x8001, 2)
	o.hasSL(2, 3, 0x8010, 3)
	o.hasSL(2, 3, 0xffff, 7)
	o.apply(osmfile.Desired{}, sm.ApplyOptions{})
	if o.read("qos-policy.conf") != policy {
		t.Errorf("the operator's policy is now\n%s", o.read("qos-policy.conf"))
	}
}

// The long form of a policy has precedence, wherever it is; without a qos-ulps section Fairlane adds one.
func TestAPolicyOfTheLongFormGetsASection(t *testing.T) {
	t.Parallel()
	l := coldLab(t)
	policy := "qos-levels\n qos-level\n  name: DEFAULT\n  sl: 6\n end-qos-level\nend-qos-levels\n"
	o := l.manage(1, "qos TRUE\n", map[string]string{"qos-policy.conf": policy}, sm.Config{ProofTimeout: 2 * time.Second}).start("SUBNET UP")
	o.apply(goldAndSilver(), sm.ApplyOptions{})
	o.hasSL(1, 4, 0x8001, 2)
	o.hasSL(2, 3, 0xffff, 6)
	policy += "qos-match-rules\n qos-match-rule\n  pkey: 0x0010-0x0020\n  qos-level-name: DEFAULT\n end-qos-match-rule\nend-qos-match-rules\n"
	o.write("qos-policy.conf", policy)
	_, err := o.manager.Apply(t.Context(), goldAndSilver(), sm.ApplyOptions{})
	var refused *sm.RefusedError
	if !errors.As(err, &refused) || refused.Problems[0].Code != osmfile.CodePolicyRule {
		t.Fatalf("error %v", err)
	}
	// OpenSM applies the rule as Fairlane predicts.
	next := goldAndSilver()
	next.Partitions[1].SL = 4
	_, err = o.manager.Apply(t.Context(), next, sm.ApplyOptions{Force: []osmfile.Code{osmfile.CodePolicyRule}})
	if err == nil || !strings.Contains(err.Error(), "returns SL 6 in partition 0x0010") {
		t.Errorf("error %v", err)
	}
}

// splitGold is a tenant whose hosts 1 and 2 communicate, and 3 and 4, with a service level for each pair.
func splitGold(sl, other ident.SL) osmfile.Desired {
	d := osmfile.Desired{Partitions: []osmfile.Partition{{Tenant: "gold", PKey: 1, SL: sl, IPoIB: true, Members: members(1, 2, 3, 4)}}}
	if other != sl {
		d.Partitions[0].Groups = []osmfile.Group{{SL: other, Ports: []ident.GUID{members(3)[0].PortGUID, members(4)[0].PortGUID}}}
	}
	return d
}

// One partition has two service levels: Fairlane writes a QoS policy for it, which does not affect the operator's
// partitions. Between the groups a path has the service level of its first port. The policy is removed together with
// the split.
func TestASplitTenantHasAServiceLevelByPort(t *testing.T) {
	t.Parallel()
	l := coldLab(t)
	partitions := "Default=0x7fff,ipoib,sl=1:ALL=full;\nstorage=0x20,sl=6:ALL=full;\n"
	o := l.manage(1, "", map[string]string{"partitions.conf": partitions}, sm.Config{Settings: osmfile.Settings{OneLane: true}}).start("SUBNET UP")
	want := splitGold(2, 5)
	want.Partitions = append(want.Partitions, osmfile.Partition{Tenant: "silver", PKey: 0x10, SL: 3, Members: members(2, 3)})
	r := o.apply(want, sm.ApplyOptions{})
	if len(r.Problems) != 0 || len(r.Proof.Partitions) != 3 || len(r.Proof.Unproven()) != 0 || len(r.Differences) != 3 {
		t.Errorf("report %+v", r)
	}
	paths := func(pkey ident.PKey, want map[[2]int]ident.SL) {
		t.Helper()
		for pair, sl := range want {
			o.hasSL(pair[0], pair[1], pkey, sl)
		}
	}
	paths(0x8001, map[[2]int]ident.SL{{1, 2}: 2, {2, 1}: 2, {3, 4}: 5, {4, 3}: 5, {1, 3}: 2, {3, 1}: 5, {4, 2}: 5, {1, 1}: 2, {4, 4}: 5})
	paths(0x8010, map[[2]int]ident.SL{{2, 3}: 3, {3, 2}: 3})
	paths(0x8020, map[[2]int]ident.SL{{1, 4}: 6, {4, 1}: 6})
	paths(0xffff, map[[2]int]ident.SL{{1, 4}: 1, {4, 1}: 1})
	if again := o.apply(want, sm.ApplyOptions{}); again.Changed || len(again.Steps) != 1 {
		t.Errorf("applied again: %+v", again.Steps)
	}
	// The two levels are exchanged, and then only one remains.
	o.apply(splitGold(5, 2), sm.ApplyOptions{Phase: sm.PhasePrepare})
	paths(0x8001, map[[2]int]ident.SL{{1, 2}: 5, {3, 4}: 2})
	paths(0x8010, map[[2]int]ident.SL{{2, 3}: 3})
	o.apply(splitGold(4, 4), sm.ApplyOptions{})
	paths(0x8001, map[[2]int]ident.SL{{1, 2}: 4, {3, 4}: 4})
	paths(0x8020, map[[2]int]ident.SL{{1, 4}: 6})
	paths(0xffff, map[[2]int]ident.SL{{1, 4}: 1})
	if _, err := os.Stat(o.Path("qos-policy.conf")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an unnecessary policy: %v", err)
	}
}

// A port that appears later, or again, is in its group: OpenSM reads the policy after it has found the ports.
func TestAPortThatComesLaterIsInItsGroup(t *testing.T) {
	t.Parallel()
	l := coldLab(t)
	o := l.manage(1, "", nil, sm.Config{}).start("SUBNET UP")
	h4 := subnet.PortRef{Node: 5, Port: 1}
	turn := func(on bool) {
		t.Helper()
		n := o.Count("SUBNET UP")
		l.dev.SetLink(h4, on)
		o.Wait("SUBNET UP", n+1)
	}
	turn(false)
	r := o.apply(splitGold(2, 5), sm.ApplyOptions{})
	if len(r.Proof.Unproven()) != 0 {
		t.Errorf("unproven %+v", r.Proof.Unproven())
	}
	turn(true)
	o.hasSL(4, 3, 0x8001, 5)
	o.hasSL(4, 1, 0x8001, 5)
	turn(false)
	turn(true)
	o.hasSL(4, 3, 0x8001, 5)
	o.hasSL(1, 4, 0x8001, 2)
}

// In the operator's policy, Fairlane's rules come first, and the operator's remain. A policy that Fairlane may not
// write and that assigns the tenant another level is refused; when it is forced, verification finds it, and the files
// are restored.
func TestASplitTenantBesideAPolicy(t *testing.T) {
	t.Parallel()
	l := coldLab(t)
	policy := "# the operator's\nport-groups\n port-group\n  name: every\n  node-type: ALL\n end-port-group\nend-port-groups\n" +
		"qos-levels\n qos-level\n  name: DEFAULT\n  sl: 7\n end-qos-level\nend-qos-levels\n" +
		"qos-match-rules\n qos-match-rule\n  pkey: 0x7fff\n  source: every\n  qos-level-name: default\n end-qos-match-rule\nend-qos-match-rules\n"
	o := l.manage(1, "qos TRUE\n", map[string]string{"qos-policy.conf": policy}, sm.Config{ProofTimeout: 2 * time.Second}).start("SUBNET UP")
	o.apply(splitGold(2, 5), sm.ApplyOptions{})
	o.hasSL(1, 2, 0x8001, 2)
	o.hasSL(3, 4, 0x8001, 5)
	o.hasSL(3, 4, 0xffff, 7)
	if got := o.read("qos-policy.conf"); !strings.HasSuffix(got, policy) {
		t.Errorf("the operator's policy is now\n%s", got)
	}
	taken := strings.ReplaceAll(policy, "0x7fff", "0x1")
	o.write("qos-policy.conf", taken)
	partitions := o.read("partitions.conf")
	next := splitGold(2, 4)
	o.with(sm.Config{Options: o.Path("opensm.conf"), Settings: osmfile.Settings{LeavePolicy: true}, ProofTimeout: 2 * time.Second})
	_, err := o.manager.Apply(t.Context(), next, sm.ApplyOptions{})
	var refused *sm.RefusedError
	if !errors.As(err, &refused) || refused.Problems[0].Code != osmfile.CodePolicyDefault {
		t.Fatalf("error %v", err)
	}
	next.Partitions[0].IPoIB = false // to have something to write
	r, err := o.manager.Apply(t.Context(), next, sm.ApplyOptions{Force: []osmfile.Code{osmfile.CodePolicyDefault, osmfile.CodePolicyRule}})
	if err == nil || !strings.Contains(err.Error(), "returns SL 7 in partition 0x0001") || r.Changed {
		t.Errorf("error %v", err)
	}
	if o.read("qos-policy.conf") != taken || o.read("partitions.conf") != partitions {
		t.Error("the files are not what they were")
	}
}

func TestQoSOffIsFound(t *testing.T) {
	t.Parallel()
	l := coldLab(t)
	o := l.manage(1, "qos true\n", nil, sm.Config{Settings: osmfile.Settings{LeaveOptions: true}, ProofTimeout: 2 * time.Second}).start("SUBNET UP")
	_, err := o.manager.Apply(t.Context(), goldAndSilver(), sm.ApplyOptions{})
	var refused *sm.RefusedError
	if !errors.As(err, &refused) || len(refused.Problems) != 1 || refused.Problems[0].Code != osmfile.CodeQoSOff {
		t.Fatalf("error %v", err)
	}
	_, err = o.manager.Apply(t.Context(), goldAndSilver(), sm.ApplyOptions{Force: []osmfile.Code{osmfile.CodeQoSOff}})
	if err == nil || !strings.Contains(err.Error(), "returns SL 0 in partition 0x0001") || !strings.Contains(err.Error(), "rolled back") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(o.Path("partitions.conf")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that was not there is there: %v", err)
	}
}

func TestAHandEditIsRefusedWithTheDifference(t *testing.T) {
	t.Parallel()
	l := coldLab(t)
	o := l.manage(1, "", nil, sm.Config{}).start("SUBNET UP")
	o.apply(goldAndSilver(), sm.ApplyOptions{})
	edited := strings.Replace(o.read("partitions.conf"), "sl=2", "sl=4", 1)
	o.write("partitions.conf", edited)
	_, err := o.manager.Apply(t.Context(), goldAndSilver(), sm.ApplyOptions{})
	var refused *sm.RefusedError
	if !errors.As(err, &refused) || refused.Problems[0].Code != osmfile.CodeEdited {
		t.Fatalf("error %v", err)
	}
	wantMatch(t, strings.Join(refused.Differences, ""), `^-gold=0x0001,ipoib,sl=4:$`, `^\+gold=0x0001,ipoib,sl=2:$`)
	if o.read("partitions.conf") != edited {
		t.Error("refused, and written nevertheless")
	}
	o.apply(goldAndSilver(), sm.ApplyOptions{Force: []osmfile.Code{osmfile.CodeEdited}})
	o.hasSL(1, 4, 0x8001, 2)
}

// With qos TRUE, OpenSM maps each service level to its own lane and serves lane 0 before all others, on every port;
// both are reported.
func TestOpenSMsLaneTablesAreReported(t *testing.T) {
	t.Parallel()
	l := coldLab(t)
	o := l.manage(1, "qos TRUE\n", nil, sm.Config{}).start("SUBNET UP")
	vlarb := func() string {
		_, high, _ := strings.Cut(l.run(host(3), "smpquery", "vlarb", l.lid(0), "11"), "High priority")
		return high
	}
	r := o.apply(goldAndSilver(), sm.ApplyOptions{})
	if n := len(r.Problems); n != 3 || r.Problems[0].Code != osmfile.CodeLanesApart || r.Problems[1].Code != osmfile.CodeFirst {
		t.Errorf("problems %v", r.Problems)
	}
	wantMatch(t, vlarb(), `WEIGHT: \|0x4 \|0x0 \|`)
	o.write("opensm.conf", o.read("opensm.conf")+"qos_vlarb_high 0:0\nqos_vlarb_low 0:4,1:4,2:4,3:4,4:4,5:4,6:4,7:4\nqos_sl2vl 0,1,1,1,1,1,1,1,0,0,0,0,0,0,0,0\n")
	next := goldAndSilver()
	next.Partitions[0].SL = 5
	if r = o.apply(next, sm.ApplyOptions{}); len(r.Problems) != 0 {
		t.Errorf("problems %v", r.Problems)
	}
	// Arbitration tables are set after the paths are known.
	if err := eventually(func() bool { return !strings.Contains(vlarb(), "|0x4 |") }); err != nil {
		t.Errorf("%v:\n%s", err, vlarb())
	}
}

// On the lane that Fairlane writes, tenants contend, at adapters and at switches, instead of each having its own lane.
func TestTenantsMeetOnOneLane(t *testing.T) {
	t.Parallel()
	l := coldLab(t)
	o := l.manage(1, "qos TRUE\n", nil, sm.Config{Settings: osmfile.Settings{OneLane: true}}).start("SUBNET UP")
	shared := regexp.MustCompile(`(?m)\|( 0\|){16}$`)
	wait := func(want bool) {
		t.Helper()
		for _, at := range [][]string{{l.lid(2)}, {l.lid(0), "1"}} {
			lanes := func() string { return l.run(host(3), "smpquery", append([]string{"sl2vl"}, at...)...) }
			// Lanes are set after the paths are known.
			if err := eventually(func() bool { return shared.MatchString(lanes()) == want }); err != nil {
				t.Errorf("all service levels on one lane at LID %s: want %t, %v:\n%s", at, want, err, lanes())
			}
		}
	}
	wait(false)
	if r := o.apply(goldAndSilver(), sm.ApplyOptions{}); len(r.Problems) != 0 {
		t.Errorf("problems %v", r.Problems)
	}
	wait(true)
}

func TestLanesOfAPlanReachTheAdapters(t *testing.T) {
	t.Parallel()
	l := coldLab(t)
	o := l.manage(1, "", nil, sm.Config{}).start("SUBNET UP")
	limit := 0
	d := goldAndSilver()
	m := [ident.NumSLs]ident.VL{0, 0, 2, 3}
	d.Lanes = []osmfile.Lanes{{
		Kind: osmfile.AdapterPort, MaxVLs: 8, HighLimit: &limit, SL2VL: &m,
		High: []osmfile.VLWeight{{}}, Low: []osmfile.VLWeight{{VL: 0, Weight: 65}, {VL: 2, Weight: 195}, {VL: 3, Weight: 130}},
	}}
	r := o.apply(d, sm.ApplyOptions{})
	if len(r.Proof.Lanes) == 0 || slices.ContainsFunc(r.Proof.Lanes, func(p sm.LaneProof) bool { return p.Silent || !p.Holds }) {
		t.Errorf("lanes %+v", r.Proof.Lanes)
	}
	wantMatch(t, l.run(host(3), "smpquery", "sl2vl", l.lid(4)), `\| 0\| 0\| 2\| 3\| 0\|`)
	wantMatch(t, l.run(host(3), "smpquery", "vlarb", l.lid(4)), `WEIGHT: \|0x41\|0xC3\|0x82\|0x0 \|`)
	// After removal, the tables are OpenSM's again.
	o.apply(goldAndSilver(), sm.ApplyOptions{})
	if strings.Contains(o.read("opensm.conf"), "sl2vl") {
		t.Errorf("the options still have the lanes:\n%s", o.read("opensm.conf"))
	}
}

// Whatever happens to OpenSM, the files are in force afterwards, and Fairlane reports what happened.
func TestARestartKeepsServiceLevelsAndIsReported(t *testing.T) {
	t.Parallel()
	l := coldLab(t)
	o := l.manage(1, "", nil, sm.Config{}).start("SUBNET UP")
	o.apply(goldAndSilver(), sm.ApplyOptions{})
	before, err := o.manager.Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o.Stop()
	o.start("SUBNET UP")
	after, err := o.manager.Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if c := osmfile.CauseOf(before, after); c.Code != osmfile.CauseRestarted {
		t.Errorf("cause %+v of %+v and %+v", c, before, after)
	}
	if p, err := o.manager.Prove(t.Context(), goldAndSilver()); err != nil || !p.Holds() {
		t.Errorf("after the restart: %v, %s", err, p.Problems())
	}
	before = after
	o.write("opensm.conf", o.read("opensm.conf")+"congestion_control TRUE\n")
	if after, err = o.manager.Observe(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c := osmfile.CauseOf(before, after); c.Code != osmfile.CauseOptionsChanged || !after.WritesCC {
		t.Errorf("cause %+v", c)
	}
	_, err = o.manager.Apply(t.Context(), goldAndSilver(), sm.ApplyOptions{})
	var refused *sm.RefusedError
	if !errors.As(err, &refused) || refused.Problems[0].Code != osmfile.CodeCCOn {
		t.Errorf("error %v", err)
	}
}

// OpenSM dies while its files are written: nothing can be verified, so they are restored; once it runs again, it uses
// them.
func TestADeadOpenSMIsReportedAndTheFilesAreRestored(t *testing.T) {
	t.Parallel()
	l := coldLab(t)
	o := l.manage(1, "", nil, sm.Config{ProofTimeout: 2 * time.Second}).start("SUBNET UP")
	o.apply(goldAndSilver(), sm.ApplyOptions{})
	was := o.read("partitions.conf")
	o.Stop()
	next := goldAndSilver()
	next.Partitions[0].SL = 6
	_, err := o.manager.Apply(t.Context(), next, sm.ApplyOptions{})
	if err == nil || !strings.Contains(err.Error(), "subnet manager") && !strings.Contains(err.Error(), "not running") {
		t.Errorf("error %v", err)
	}
	t.Log(err)
	if o.read("partitions.conf") != was {
		t.Error("the file is not what it was")
	}
	o.start("SUBNET UP")
	o.apply(next, sm.ApplyOptions{})
	o.hasSL(1, 4, 0x8001, 6)
}

// Two subnet managers: the standby's files are written as those of a standby, and after the master stops, it assigns
// the same service levels.
func TestAHandoverBetweenTwoOpenSMs(t *testing.T) {
	t.Parallel()
	l := coldLab(t)
	polling := "sminfo_polling_timeout 300\npolling_retry_number 2\n"
	master := l.manage(1, polling+"sm_priority 10\n", nil, sm.Config{PortGUID: members(1)[0].PortGUID}).start("SUBNET UP")
	standby := l.manage(4, polling+"sm_priority 2\n", nil, sm.Config{PortGUID: members(4)[0].PortGUID}).start("Entering STANDBY state")
	master.apply(goldAndSilver(), sm.ApplyOptions{})
	_, err := standby.manager.Apply(t.Context(), goldAndSilver(), sm.ApplyOptions{})
	var refused *sm.RefusedError
	if !errors.As(err, &refused) || refused.Problems[0].Code != osmfile.CodeNotMaster {
		t.Fatalf("error %v", err)
	}
	if r := standby.apply(goldAndSilver(), sm.ApplyOptions{Standby: true}); !r.Changed {
		t.Errorf("report %+v", r)
	}
	before, err := master.manager.Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	master.Stop()
	standby.Wait("SUBNET UP", 1)
	for name, m := range map[string]*sm.Manager{"standby's": standby.manager, "former master's": master.manager} {
		after, err := m.Observe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if c := osmfile.CauseOf(before, after); c.Code != osmfile.CauseHandover || after.Foreign != (name != "standby's") {
			t.Errorf("%s: cause %+v, %+v", name, c, after)
		}
	}
	standby.apply(goldAndSilver(), sm.ApplyOptions{})
	standby.hasSL(1, 4, 0x8001, 2)
}
