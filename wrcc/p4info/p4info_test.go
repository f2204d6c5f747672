package p4info

import (
	"errors"
	"strings"
	"testing"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"fairlane/internal/fieldwise"
	"fairlane/wrcc"
)

func load(t testing.TB) *configv1.P4Info {
	t.Helper()
	p, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestIDsMatchTheP4InfoText pairs each constant with the entity that the text gives its id, and checks the type
// in its top byte against P4Runtime's own numbers.
func TestIDsMatchTheP4InfoText(t *testing.T) {
	t.Parallel()
	p := load(t)
	name := map[uint32]string{}
	prefix := map[uint32]configv1.P4Ids_Prefix{}
	add := func(e named, kind configv1.P4Ids_Prefix) {
		id := e.GetPreamble().GetId()
		if old, twice := name[id]; twice {
			t.Errorf("id 0x%08x is of %s and of %s", id, old, e.GetPreamble().GetAlias())
		}
		name[id], prefix[id] = e.GetPreamble().GetAlias(), kind
	}
	for _, e := range p.GetTables() {
		add(e, configv1.P4Ids_TABLE)
	}
	for _, e := range p.GetActions() {
		add(e, configv1.P4Ids_ACTION)
	}
	for _, e := range p.GetCounters() {
		add(e, configv1.P4Ids_COUNTER)
		if e.GetSize() != Size {
			t.Errorf("%s has %d cells, want %d", e.GetPreamble().GetAlias(), e.GetSize(), Size)
		}
	}
	for _, e := range p.GetRegisters() {
		add(e, configv1.P4Ids_REGISTER)
		if e.GetSize() != Size {
			t.Errorf("%s has %d cells, want %d", e.GetPreamble().GetAlias(), e.GetSize(), Size)
		}
	}
	for _, e := range p.GetDigests() {
		add(e, configv1.P4Ids_DIGEST)
	}
	want := map[uint32]string{
		TablePortConfig: "port_cfg", TableClassWeight: "class_weight", TableDomain: "domain_cfg",
		ActionPortConfig: "set_port_cfg", ActionClassWeight: "set_class_weight", ActionDomain: "set_domain",
		CounterInput: "port_input", CounterFCNP: "fcnp_sent", CounterRewrites: "int_rewrites", CounterPauses: "pfc_pauses", CounterPFRSum: "pfr_sum",
		RegisterPFR: "pfr_mbps", RegisterAvgRTT: "avg_rtt_us", RegisterQueue: "queue_bytes", DigestCongestion: "congestion",
	}
	if len(name) != len(want) {
		t.Errorf("the text has %d entities, the constants %d", len(name), len(want))
	}
	for id, n := range want {
		if name[id] != n || configv1.P4Ids_Prefix(id>>24) != prefix[id] {
			t.Errorf("id 0x%08x: the text has %q of type %v, want %q", id, name[id], prefix[id], n)
		}
	}
}

func TestCanonicalBytes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v    uint64
		want string
	}{{0, "\x00"}, {1, "\x01"}, {255, "\xff"}, {256, "\x01\x00"}, {0xffffffff, "\xff\xff\xff\xff"}, {1 << 63, "\x80\x00\x00\x00\x00\x00\x00\x00"}} {
		if got := string(Encode(c.v)); got != c.want {
			t.Errorf("%d is %x, want %x", c.v, got, c.want)
		}
	}
	for name, c := range map[string]struct {
		b        string
		bits     int
		wantText string
	}{
		"empty":          {"", 16, "no bytes"},
		"leading zero":   {"\x00\x05", 16, "no leading zeros"},
		"two zeros":      {"\x00\x00", 16, "no leading zeros"},
		"too many bytes": {"\x01\x00\x00", 16, "3 bytes"},
		"class 8":        {"\x08", 3, "found 8, want at most 7, 3 bits"},
		"flag 2":         {"\x02", 1, "at most 1"},
	} {
		_, err := Decode("x.y", []byte(c.b), c.bits)
		var fe *fieldwise.Error
		if !errors.As(err, &fe) || fe.Field != "x.y" || !strings.Contains(err.Error(), c.wantText) {
			t.Errorf("%s: %v, want a field error that contains %q", name, err, c.wantText)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.IntRange(1, 64).Draw(t, "bits")
		v := rapid.Uint64().Draw(t, "value") >> (64 - bits)
		if got, err := Decode("x", Encode(v), bits); err != nil || got != v {
			t.Fatalf("%d of %d bits was read back as %d: %v", v, bits, got, err)
		}
	})
}

func drawPort(t *rapid.T) wrcc.PortConfig {
	return wrcc.PortConfig{
		Port: rapid.Uint16().Draw(t, "port"), FminMbps: rapid.Uint32().Draw(t, "fmin"), FmaxMbps: rapid.Uint32().Draw(t, "fmax"), TargetMbps: rapid.Uint32().Draw(t, "target"),
		PeriodUs: rapid.Uint16().Draw(t, "period"), RateRatioPct: rapid.Uint16().Draw(t, "rate"), QRatioPct: rapid.Uint16().Draw(t, "queue"),
	}
}

func TestTableEntriesRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPort(t)
		if got, err := DecodePortConfig(PortConfig(p)); err != nil || got != p {
			t.Fatalf("%+v was read back as %+v: %v", p, got, err)
		}
		w := wrcc.ClassWeight{Port: p.Port, Class: rapid.Uint8Max(7).Draw(t, "class"), Multiplier: p.PeriodUs, Shift: rapid.Uint8Max(15).Draw(t, "shift")}
		if got, err := DecodeClassWeight(ClassWeight(w)); err != nil || got != w {
			t.Fatalf("%+v was read back as %+v: %v", w, got, err)
		}
		d := wrcc.PortDomain{Port: p.Port, Domain: p.QRatioPct, WAN: rapid.Bool().Draw(t, "wan")}
		if got, err := DecodeDomain(Domain(d)); err != nil || got != d {
			t.Fatalf("%+v was read back as %+v: %v", d, got, err)
		}
		for _, e := range []*p4v1.TableEntry{PortConfig(p), ClassWeight(w), Domain(d)} {
			port, class, err := DecodeKey(Key(e))
			if err != nil || port != p.Port || e.GetTableId() == TableClassWeight && class != w.Class {
				t.Fatalf("key of %v: %d %d %v", e, port, class, err)
			}
		}
	})
}

func TestTableEntryGoldenBytes(t *testing.T) {
	t.Parallel()
	e := PortConfig(wrcc.PortConfig{Port: 7, FminMbps: 100, FmaxMbps: 100_000, TargetMbps: 400_000, PeriodUs: 24, RateRatioPct: 110, QRatioPct: 50})
	var params []string
	for _, p := range e.GetAction().GetAction().GetParams() {
		params = append(params, string(p.GetValue()))
	}
	if got, want := strings.Join(params, "|"), "\x64|\x01\x86\xa0|\x06\x1a\x80|\x18|\x6e|\x32"; got != want {
		t.Errorf("parameters %q, want %q", got, want)
	}
	if got := string(e.GetMatch()[0].GetExact().GetValue()); got != "\x07" {
		t.Errorf("key %q", got)
	}
}

// TestDecodersNameTheField changes one part of a valid entry at a time.
func TestDecodersNameTheField(t *testing.T) {
	t.Parallel()
	good := func() *p4v1.TableEntry {
		return PortConfig(wrcc.PortConfig{Port: 7, FminMbps: 100, FmaxMbps: 100_000, TargetMbps: 400_000, PeriodUs: 24, RateRatioPct: 110, QRatioPct: 50})
	}
	params := func(e *p4v1.TableEntry) []*p4v1.Action_Param { return e.GetAction().GetAction().GetParams() }
	for name, c := range map[string]struct {
		corrupt  func(e *p4v1.TableEntry)
		wantText string
	}{
		"another table":     {func(e *p4v1.TableEntry) { e.TableId = TableDomain }, "port_cfg.table_id: found 0x02000003, want 0x02000001"},
		"a priority":        {func(e *p4v1.TableEntry) { e.Priority = 3 }, "port_cfg.priority"},
		"no key":            {func(e *p4v1.TableEntry) { e.Match = nil }, "port_cfg.match: found 0 fields"},
		"key field 2":       {func(e *p4v1.TableEntry) { e.Match[0].FieldId = 2 }, "port_cfg.match field: found 2, want 1 to 1"},
		"a ternary key":     {func(e *p4v1.TableEntry) { e.Match[0].FieldMatchType = &p4v1.FieldMatch_Ternary_{} }, "port_cfg.port: found another kind"},
		"a padded key":      {func(e *p4v1.TableEntry) { e.Match[0].GetExact().Value = []byte{0, 7} }, "port_cfg.port: found 0x0007"},
		"no action":         {func(e *p4v1.TableEntry) { e.Action = nil }, "port_cfg.action: found none"},
		"another action":    {func(e *p4v1.TableEntry) { e.GetAction().GetAction().ActionId = ActionDomain }, "port_cfg.action_id"},
		"a parameter less":  {func(e *p4v1.TableEntry) { a := e.GetAction().GetAction(); a.Params = a.Params[1:] }, "port_cfg.params: found 5, want 6"},
		"a parameter twice": {func(e *p4v1.TableEntry) { params(e)[5].ParamId = 1 }, "port_cfg.parameter: found 1 twice"},
		"parameter 0":       {func(e *p4v1.TableEntry) { params(e)[5].ParamId = 0 }, "port_cfg.parameter: found 0, want 1 to 6"},
		"a wide period":     {func(e *p4v1.TableEntry) { params(e)[3].Value = []byte{1, 0, 0} }, "port_cfg.wrcct_us: found 3 bytes"},
		"an empty floor":    {func(e *p4v1.TableEntry) { params(e)[0].Value = nil }, "port_cfg.f_min_mbps: found no bytes"},
		"a padded ceiling":  {func(e *p4v1.TableEntry) { params(e)[1].Value = []byte{0, 1} }, "port_cfg.f_max_mbps: found 0x0001"},
	} {
		e := good()
		c.corrupt(e)
		if got, err := DecodePortConfig(e); err == nil || !strings.Contains(err.Error(), c.wantText) {
			t.Errorf("%s: %+v, %v, want an error that contains %q", name, got, err, c.wantText)
		}
	}
	if _, _, err := DecodeKey(&p4v1.TableEntry{TableId: 5}); err == nil {
		t.Error("a key of no table of ours was read")
	}
	if _, err := DecodePortConfig(nil); err == nil {
		t.Error("nothing was read as an entry")
	}
}

func TestMeasuredRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		port, v := rapid.Uint16Max(Size-1).Draw(t, "port"), rapid.Uint32().Draw(t, "value")
		if p, got, err := DecodeRegister(Register(RegisterPFR, port, v), RegisterPFR); err != nil || p != port || got != v {
			t.Fatalf("register: %d %d %v", p, got, err)
		}
		c := Count{rapid.Uint64Max(1<<63-1).Draw(t, "packets"), uint64(v)}
		if p, got, err := DecodeCounter(Counter(CounterInput, port, c), CounterInput); err != nil || p != port || got != c {
			t.Fatalf("counter: %d %v %v", p, got, err)
		}
		d := Congestion{Port: port, Class: rapid.Uint8Max(7).Draw(t, "class"), PFR: v, Queue: v / 2, TimeUs: rapid.Uint64Max(1<<48-1).Draw(t, "time")}
		if got, err := DecodeDigest(Digest(d)); err != nil || got != d {
			t.Fatalf("digest: %+v %v", got, err)
		}
	})
}

func TestMeasuredRefusals(t *testing.T) {
	t.Parallel()
	reg := Register(RegisterPFR, 3, 9)
	reg.Index.Index = Size
	_, _, err1 := DecodeRegister(reg, RegisterPFR)
	_, _, err2 := DecodeRegister(Register(RegisterQueue, 3, 9), RegisterPFR)
	_, _, err3 := DecodeRegister(&p4v1.RegisterEntry{RegisterId: RegisterPFR, Index: &p4v1.Index{Index: 3}}, RegisterPFR)
	cnt := Counter(CounterFCNP, 3, Count{})
	cnt.Data = nil
	_, _, err4 := DecodeCounter(cnt, CounterFCNP)
	_, _, err5 := DecodeCounter(&p4v1.CounterEntry{CounterId: CounterFCNP, Index: &p4v1.Index{Index: 1}, Data: &p4v1.CounterData{PacketCount: -1}}, CounterFCNP)
	_, _, err6 := DecodeCounter(&p4v1.CounterEntry{CounterId: CounterFCNP, Data: &p4v1.CounterData{}}, CounterFCNP)
	_, err7 := DecodeDigest(bitstring(1))
	d := Digest(Congestion{Class: 8})
	_, err8 := DecodeDigest(d)
	d.GetStruct().Members = d.GetStruct().GetMembers()[1:]
	_, err9 := DecodeDigest(d)
	for i, c := range []struct {
		err      error
		wantText string
	}{
		{err1, "index: found 512, want 0 to 511"}, {err2, "register_id"}, {err3, "register 0x16000001[3]: found another kind"},
		{err4, "counter 0x12000002[3]: found no data"}, {err5, "-1 packets"}, {err6, "index"},
		{err7, "a struct"}, {err8, "congestion.class: found 8"}, {err9, "4 members"},
	} {
		var fe *fieldwise.Error
		if !errors.As(c.err, &fe) || !strings.Contains(c.err.Error(), c.wantText) {
			t.Errorf("case %d: %v, want a field error that contains %q", i+1, c.err, c.wantText)
		}
	}
}

func TestCompareAcceptsSupersetsAndNamesDifferences(t *testing.T) {
	t.Parallel()
	f, err := Compare(load(t))
	if err != nil || f.Ports != 512 || f.Weights != 4096 || f.Domains != 512 || len(f.Registers) != 3 || len(f.Counters) != 5 || !f.Digest {
		t.Fatalf("our own P4Info: %+v, %v", f, err)
	}
	for name, c := range map[string]struct {
		change   func(p *configv1.P4Info)
		wantText string // "": still ours
		check    func(f Features) bool
	}{
		"a table more": {func(p *configv1.P4Info) {
			p.Tables = append(p.Tables, &configv1.Table{Preamble: &configv1.Preamble{Id: 0x02000099, Name: "acl"}})
		}, "", nil},
		"no class weights":  {func(p *configv1.P4Info) { p.Tables = append(p.Tables[:1:1], p.Tables[2]) }, "", func(f Features) bool { return f.Weights == 0 }},
		"no registers":      {func(p *configv1.P4Info) { p.Registers = nil }, "", func(f Features) bool { return len(f.Registers) == 0 && f.Counters[CounterPFRSum] }},
		"no digest":         {func(p *configv1.P4Info) { p.Digests = nil }, "", func(f Features) bool { return !f.Digest }},
		"a short table":     {func(p *configv1.P4Info) { p.Tables[0].Size = 32 }, "", func(f Features) bool { return f.Ports == 32 }},
		"a size below zero": {func(p *configv1.P4Info) { p.Tables[0].Size = -1 }, "", func(f Features) bool { return f.Ports == 0 }},
		"nothing":           {func(p *configv1.P4Info) { proto.Reset(p) }, "table port_cfg: found none", nil},
		"no data centres":   {func(p *configv1.P4Info) { p.Tables = p.Tables[:2] }, "table domain_cfg: found none", nil},
		"another name":      {func(p *configv1.P4Info) { p.Tables[0].Preamble.Name = "acl" }, `table 0x02000001: found name "acl"`, nil},
		"a narrow key":      {func(p *configv1.P4Info) { p.Tables[0].MatchFields[0].Bitwidth = 9 }, `table port_cfg: match field 1: found id 1, "port" of 9 bits`, nil},
		"a ternary key": {func(p *configv1.P4Info) {
			p.Tables[0].MatchFields[0].Match = &configv1.MatchField_MatchType_{MatchType: configv1.MatchField_TERNARY}
		}, "kind of match of port: found TERNARY", nil},
		"no action":          {func(p *configv1.P4Info) { p.Actions = p.Actions[1:] }, "no action 0x01000001, wrcc.set_port_cfg", nil},
		"swapped parameters": {func(p *configv1.P4Info) { a := p.Actions[0].Params; a[0], a[1] = a[1], a[0] }, "action set_port_cfg: parameter 1: found id 2", nil},
		"a parameter less":   {func(p *configv1.P4Info) { p.Actions[0].Params = p.Actions[0].Params[:5] }, "found 5, want 6", nil},
		"a wide register":    {func(p *configv1.P4Info) { p.Registers[0].TypeSpec.GetBitstring().GetBit().Bitwidth = 64 }, "register pfr_mbps: bits: found 64, want 32", nil},
		"only bytes counted": {func(p *configv1.P4Info) { p.Counters[4].Spec.Unit = configv1.CounterSpec_BYTES }, "counter pfr_sum: unit", nil},
		"another digest":     {func(p *configv1.P4Info) { p.TypeInfo.Structs["congestion_t"].Members[2].Name = "rate" }, `digest congestion: member 3: found "rate"`, nil},
		"an empty digest":    {func(p *configv1.P4Info) { p.TypeInfo = nil }, "digest congestion: found 0 members", nil},
	} {
		p := load(t)
		c.change(p)
		f, err := Compare(p)
		if (err == nil) != (c.wantText == "") || err != nil && !strings.Contains(err.Error(), c.wantText) {
			t.Errorf("%s: %v, want one that contains %q", name, err, c.wantText)
		}
		if c.check != nil && !c.check(f) {
			t.Errorf("%s: features %+v", name, f)
		}
	}
	if _, err := Compare(nil); err == nil {
		t.Error("no P4Info at all is ours")
	}
}

func TestCookieIsOfTheText(t *testing.T) {
	t.Parallel()
	if Cookie() == 0 || !strings.Contains(Text(), "wrcc.port_cfg") {
		t.Errorf("cookie %x of %d bytes", Cookie(), len(Text()))
	}
}
