package interop

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"fairlane/internal/testkit/peertest"
	"fairlane/subnet/ident"
	sm "fairlane/subnet/opensm"
	"fairlane/subnet/opensm/osmfile"
)

// optionLines are parts of opensm.conf, valid and invalid.
var optionLines = []string{
	"qos TRUE", "qos true", "qos FALSE", "qos", "qos \"TRUE\"", "qos TRUE # yes", "qos TRUE yes", "\tqos\tTRUE\t", "qos=TRUE", "#qos TRUE", "qos#TRUE",
	"congestion_control TRUE", "congestion_control 1", "congestion_control (null)",
	"qos_max_vls 4", "qos_max_vls 0x6", "qos_max_vls 010", "qos_max_vls 08", "qos_max_vls 3x", "qos_max_vls -1", "qos_max_vls", "qos_max_vls = 4",
	"qos_high_limit 7", "qos_high_limit -1", "qos_high_limit 300", "qos_high_limit \"3\"", "qos_high_limit + 3",
	"qos_sl2vl 0,1,2", "qos_sl2vl \"0,1\"", "qos_sl2vl (null)", "qos_sl2vl", "qos_sl2vl 0, 1, 2", "qos_sl2vl \"0,1", "qos_ca_sl2vl 5",
	"log_prefix \" a b \"", "log_prefix a#b", "log_prefix \"x#y\"", "log_prefix \"\"", "log_prefix \"", "log_prefix  spaced  out ",
	"subnet_prefix 0xfe80000000000001", "subnet_prefix 17", "guid 0x0002c90300001234", "guid 12",
	"nonsense", "# fairlane begin sha256=0", "# fairlane end", "", "   ", "\r", "qos TRUE\r",
	strings.Repeat(" ", 1015) + "qos_max_vls 5", "# " + strings.Repeat("x", 1020) + " qos TRUE", "log_prefix " + strings.Repeat("y", 1100),
	strings.Repeat("#", 1022) + "qos TRUE",
}

// For any opensm.conf, Fairlane reads the same options as OpenSM, which prints them with -c.
func TestOptionsAreReadAsOpenSMReadsThem(t *testing.T) {
	t.Parallel()
	program, dir := peertest.Program(t, "opensm"), t.TempDir()
	in, out := filepath.Join(dir, "in.conf"), filepath.Join(dir, "out.conf")
	r := rand.New(rand.NewPCG(1, 2))
	cases := make([]string, 0, len(optionLines)+80)
	for _, l := range optionLines {
		cases = append(cases, l+"\n", "qos_max_vls 2\nqos TRUE\n"+l+"\n")
	}
	for range 80 {
		var s strings.Builder
		for range 1 + r.IntN(8) {
			s.WriteString(optionLines[r.IntN(len(optionLines))] + "\n")
		}
		cases = append(cases, s.String())
	}
	for _, text := range cases {
		if err := os.WriteFile(in, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), toolDeadline)
		printed, err := exec.CommandContext(ctx, program, "-F", in, "-c", out, "-f", filepath.Join(dir, "log")).CombinedOutput()
		cancel()
		if err != nil {
			t.Fatalf("%v\n%s", err, printed)
		}
		dump, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		sameOptions(t, text, string(dump))
	}
}

// sameOptions compares Fairlane's reading of a text with OpenSM's.
func sameOptions(t *testing.T, text, dump string) {
	t.Helper()
	theirs := map[string]string{}
	for l := range strings.Lines(dump) {
		if k, v, ok := strings.Cut(strings.TrimSuffix(l, "\n"), " "); ok {
			theirs[k] = v
		}
	}
	ours := osmfile.ReadOptions(text)
	got := map[string]string{}
	for _, k := range []string{"qos", "congestion_control"} {
		got[k] = strings.ToUpper(strconv.FormatBool(ours.Bool(k)))
	}
	for _, k := range []string{"qos_sl2vl", "qos_ca_sl2vl", "log_prefix"} {
		v, ok := ours.Text(k)
		if !ok {
			v = "(null)"
		}
		got[k] = v
	}
	got["subnet_prefix"] = fmt.Sprintf("0x%016x", ours.SubnetPrefix())
	got["guid"] = ours.PortGUID().String()
	for k, v := range got {
		if theirs[k] != v {
			t.Errorf("%q: we read %s %q, OpenSM %q", text, k, v, theirs[k])
		}
	}
}

// For any partitions.conf, OpenSM creates the partitions that Fairlane reads, or none for a line that Fairlane expects
// it to reject.
func TestPartitionsAreReadAsOpenSMReadsThem(t *testing.T) {
	t.Parallel()
	l := coldLab(t)
	o := l.manage(1, "qos TRUE\n", nil, sm.Config{}).start("SUBNET UP")
	g := func(h int) string { return members(h)[0].PortGUID.String() }
	for i, text := range []string{
		"a=0x10,sl=1:ALL=full;\n",
		"a=0x10,sl=1,defmember=full:" + g(1) + "," + g(2) + "=limited;b=0x11,sl=2:ALL=full;\n",
		"a=0x10,sl=1,defmember=full:\n " + g(1) + ",\n " + g(2) + "\n;\n",
		"a=0x10,sl=1:ALL=full;\na=0x10:" + g(1) + ";\n",
		"a=0x10\n,sl=1:ALL=full;\n",
		"a=0x10,sl=1:" + g(1) + "=full,host2," + g(2) + "=full;\n",
		"a=0x10,sl=1:" + g(1) + "=full," + g(2) + "=fu;\nb=17,sl=0x2:ALL=f;\n",
		"a=0x10,sl=16:ALL=full;\nb=0x11,sl=3,:AL=full;\n",
		"a=0x8010,sl=1:ALL=full;\n0x11,sl=2:ALL=full;\n",
		"a=zwei:ALL=full;\nb=0x11,sl=2:ALL=full;\n",
		"a=0x10,sl=1:ALL=full;\r\nb=0x11,sl=2:ALL=full;\n",
		"a=0x10,sl=1,ipoib:\n mgid=ff12:401b::0707,sl=1\n ALL=full;\n",
		"a=0x10,s=1,defm=full:ALL;\n",
		"a=0x10,sl=1:ALL=full;" + strings.Repeat(" ", 4094) + "\nb=0x11,sl=2:ALL=full;\n",
		"a=0x10,sl=1:" + strings.Repeat(" ", 4080) + "ALL=full;\nb=0x11,sl=2:ALL=full;\n",
		"a=0x10,sl=1:" + strings.Repeat(" ", 4078) + "ALL,ALL=full;\nb=0x11,sl=2:ALL=full;\n",
		"a=0x20010,sl=1:ALL=full;b=-17:ALL=full;\n",
		"a = 0x10 , sl = 1 : ALL = full ;\n# b=0x11:ALL;\n",
		"a=0x10,sl=1:ALL=full # no end\n",
	} {
		key := ident.PKey(0x100 + i) // of a later partition
		text = "Default=0x7fff:ALL=full;\n" + text + fmt.Sprintf("last=0x%x,sl=9:ALL=full;\n", uint16(key))
		stanzas, faults := osmfile.ReadPartitions(text)
		want, refused := map[ident.PKey]ident.SL{}, osmfile.Refused(faults)
		for _, s := range stanzas {
			if !refused && pairOf(stanzas, s.PKey) {
				want[s.PKey] = s.SL
			}
		}
		o.write("partitions.conf", text)
		o.Hup()
		for _, k := range []ident.PKey{0x10, 0x11, key} {
			sl, ok := want[k]
			out, err := l.try(host(2), "saquery", "PR", "--slid", l.lid(2), "--dlid", l.lid(3), "--pkey", (k | 0x8000).String())
			theirs := err == nil && strings.Contains(out, "sl..")
			if theirs != ok || ok && !strings.Contains(out, fmt.Sprintf("sl......................0x%X\n", sl)) {
				t.Errorf("%q: partition %s: we read SL %d, %v (faults %v); OpenSM says\n%s", text, k, sl, ok, faults, out)
			}
		}
	}
}

// pairOf reports whether hosts 1 and 2 can communicate in a partition.
func pairOf(stanzas []osmfile.Stanza, key ident.PKey) bool {
	in := map[int]bool{} // maps hosts that are members to full membership
	for _, s := range stanzas {
		if s.PKey != key {
			continue
		}
		for _, m := range s.Members {
			for _, h := range []int{1, 2} {
				if m.Word == "ALL" || m.GUID == members(h)[0].PortGUID {
					in[h] = m.Full
				}
			}
		}
	}
	return len(in) == 2 && (in[1] || in[2])
}

// Fairlane predicts what OpenSM makes of a QoS policy: the service level of a path in a partition, by its first and
// last port, or that OpenSM rejects the policy, so that the partition's own level applies.
func TestPoliciesAreReadAsOpenSMReadsThem(t *testing.T) {
	t.Parallel()
	l := coldLab(t)
	const partitions = "Default=0x7fff:ALL=full;\na=0x10,sl=1:ALL=full;\nb=0x11,sl=2:ALL=full;\n"
	o := l.manage(1, "qos TRUE\n", map[string]string{"partitions.conf": partitions}, sm.Config{}).start("SUBNET UP")
	g := func(h int) string { return members(h)[0].PortGUID.String() }
	groups := "port-groups\n port-group # comment\n name: a # c\n use: what: ever, it is\n port-guid: " + g(1) + ", 0x999\n end-port-group\n" +
		" port-group\n name: b\n port-guid: " + g(3) + "-" + g(2) + "\n port-guid: " + g(4) + "\n end-port-group\n port-group\n name: none\n end-port-group\nend-port-groups\n"
	short := func(s string) string { return "qos-ulps\n" + s + "end-qos-ulps\n" }
	level := func(name string, sl int) string {
		return fmt.Sprintf(" qos-level\n name: %s\n sl: %d\n end-qos-level\n", name, sl)
	}
	rule := func(s string) string { return " qos-match-rule\n" + s + " end-qos-match-rule\n" }
	long := func(rules string) string {
		return "qos-levels\n" + level("DEFAULT", 4) + level("High", 5) + "end-qos-levels\nqos-match-rules\n" + rules + "end-qos-match-rules\n"
	}
	for _, text := range []string{
		short("default : 3\n"),
		short("default : 3 # comment\n any, pkey 0x10 : 6\n"),
		short("any, pkey 0x8010 : 6\n default : 3\n"),
		short("ANY , pkey 0x10-0x11,0x7fff : 6\n any, pkey 0x10 : 7\n Default:3\n"),
		short("any, pkey 16 : 6\nipoib, pkey 0x11 : 7\nipoib : 8\ndefault : 3\n"),
		short("any, pkey 0x10 : 6\n"),
		short(""),
		short("default : 16\n"),
		short("default 3\n"),
		short("default : 3\n nonsense\n"),
		short("default : 3\n\r\n"),
		"default : 3\n",
		"qos-ulps\ndefault : 3\n",
		"  qos-ulps\n\tdefault : 3\n\n# x\nend-qos-ulps\n",
		long(""),
		long(rule("pkey: 0x10\n qos-level-name: High\n")),
		long(rule("pkey: 0x10\n qos-level-name: High\n")) + short("any, pkey 0x10 : 6\nany, pkey 0x11 : 7\n"),
		short("any, pkey 0x10 : 6\n") + long(rule("pkey: 0x11-0x12\n qos-level-name: High\n use: some words : 3\n")),
		long(rule("pkey: 0x10\n qos-level-name: Low\n")),
		long(rule("service-id: 0x7\n qos-level-name: High\n")),
		// Rules by port: the first port of a path, the last, or both.
		groups + long(rule("pkey: 0x10\n source: A\n qos-level-name: high\n")) + short("any, pkey 0x10 : 3\n") + short("default : 2\n"),
		groups + long(rule("pkey: 0x10\n destination: a\n qos-level-name: high\n")),
		long(rule("pkey: 0x10\n source: a\n destination: b\n qos-level-name: high\n")) + groups,
		groups + long(rule("pkey: 0x20-0x10\n source: a , b\n qos-level-name: HIGH\n")),
		groups + long(rule("pkey: 0x11\n source: a\n source: b\n qos-level-name: High\n")),
		groups + long(rule("source: none\n qos-level-name: High\n")),
		groups + groups[:len(groups)-len("end-port-groups\n")] + " port-group\n name: B\n port-guid: " + g(1) + "\n end-port-group\nend-port-groups\n" +
			long(rule("source: b\n qos-level-name: High\n")), // the first group with a name applies
		long(rule("source: nobody\n qos-level-name: High\n")),
		"port-groups\n port-group\n port-guid: 0x1\n end-port-group\nend-port-groups\n" + short("default : 3\n"),
		"port-groups\nend-port-groups\n" + short("default : 3\n"),
		"PORT-GROUPS\nEND-PORT-GROUPS\n" + short("default : 3\n"),
		// Which default applies, and what makes levels and rules invalid.
		long("") + short("default : 3\n"),
		short("default : 3\n") + "qos-levels\n" + level("default", 6) + level("Default", 7) + "end-qos-levels\n",
		short("default : 3\n") + short("default : 5\n"),
		short("") + long(""),
		"qos-levels\nend-qos-levels\nqos-match-rules\nend-qos-match-rules\n" + short("default : 3\n"),
		short("default : 3\n") + "qos-levels\n qos-level\n name: x\n end-qos-level\nend-qos-levels\n",
		short("default : 3\n") + "qos-levels\n qos-level\n sl: 1\n end-qos-level\nend-qos-levels\n",
		short("default : 3\n") + "qos-levels\n qos-level\n name: x\n sl: 1\n speed: 2\n end-qos-level\nend-qos-levels\n",
		long(rule("pkey: 0x10\n colour: 1\n qos-level-name: High\n")),
		groups + "port-groups\n port-group\n name: c\n colour: 1\n end-port-group\nend-port-groups\n" + short("default : 3\n"),
	} {
		o.write("qos-policy.conf", text)
		o.Hup()
		p, faults := osmfile.ReadPolicy(text)
		for _, q := range []struct {
			key      ident.PKey
			own      ident.SL
			from, to int
		}{{0x10, 1, 1, 2}, {0x10, 1, 2, 1}, {0x10, 1, 1, 3}, {0x10, 1, 3, 1}, {0x11, 2, 1, 2}} {
			want := q.own
			if p.Default != nil && !osmfile.Refused(faults) {
				want = p.SL(q.key, members(q.from)[0].PortGUID, members(q.to)[0].PortGUID)
			}
			out, err := l.try(host(2), "saquery", "PR", "--slid", l.lid(int32(q.from+1)), "--dlid", l.lid(int32(q.to+1)), "--pkey", (q.key | 0x8000).String())
			if err != nil || !strings.Contains(out, fmt.Sprintf("sl......................0x%X\n", want)) {
				t.Errorf("%q: partition %s from host %d to %d: we read SL %d (faults %v); OpenSM says %v\n%s", text, q.key, q.from, q.to, want, faults, err, out)
			}
		}
	}
}
