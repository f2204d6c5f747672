package mad_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

func ports(p ...ident.PortNum) []ident.PortNum { return p }

func TestBuildersFillTheCommonHeader(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		p       mad.Packet
		class   mad.Class
		version uint8
		qpn     uint32
		data    int // length of the data area
	}{
		{"LID-routed SMP", mad.NewSMP(mad.MethodSet, mad.AttrPortInfo, 7), mad.ClassSubnLID, 1, 0, 64},
		{"directed SMP", mad.NewDirected(mad.MethodSet, mad.AttrPortInfo, 7), mad.ClassSubnDR, 1, 0, 64},
		{"SA", mad.NewSA(mad.MethodSet, mad.AttrPathRecord, 7), mad.ClassSubnAdm, 2, 1, 200},
		{"performance", mad.NewPerf(mad.MethodSet, mad.AttrPortCounters, 7), mad.ClassPerf, 1, 1, 192},
		{"congestion", mad.NewCC(mad.MethodSet, mad.AttrCACongestionSetting, 7, 0), mad.ClassCongestion, 2, 1, 192},
		{"congestion log", mad.NewCC(mad.MethodSet, mad.AttrCongestionLog, 7, 0), mad.ClassCongestion, 2, 1, 224},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := tt.p
			if p.BaseVersion() != 1 || p.Class() != tt.class || p.ClassVersion() != tt.version || p.Method() != mad.MethodSet || p.Modifier() != 7 {
				t.Errorf("header %x", p[:24])
			}
			if p.Class().QPN() != tt.qpn || len(p.Data()) != tt.data || p.IsResponse() || p.TID() != 0 {
				t.Errorf("queue pair %d, %d bytes of data, response %v", p.Class().QPN(), len(p.Data()), p.IsResponse())
			}
		})
	}
}

func TestHeaderFieldsAreIndependent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var p mad.Packet
		copy(p[:], rapid.SliceOfN(rapid.Byte(), mad.Size, mad.Size).Draw(t, "packet"))
		p[1] = byte(rapid.SampledFrom([]mad.Class{mad.ClassSubnDR, mad.ClassSubnLID, mad.ClassPerf}).Draw(t, "class"))
		method := mad.Method(rapid.Byte().Draw(t, "method"))
		status := mad.Status(rapid.Uint16Range(0, 0x7fff).Draw(t, "status"))
		back := rapid.Bool().Draw(t, "direction") && p.Class() == mad.ClassSubnDR
		tid, attr, mod := rapid.Uint64().Draw(t, "tid"), mad.AttrID(rapid.Uint16().Draw(t, "attr")), rapid.Uint32().Draw(t, "mod")
		key := mad.Key(rapid.Uint64().Draw(t, "key"))
		tail := [3]byte{p[2], p[18], p[19]}
		p.SetMethod(method)
		p.SetDirection(back)
		p.SetStatus(status)
		p.SetTID(tid)
		p.SetAttr(attr)
		p.SetModifier(mod)
		p.SetMKey(key)
		p.SetHopPointer(5)
		p.SetHopCount(9)
		p.SetDrLIDs(3, 4)
		switch {
		case p.Method() != method || p.Status() != status || p.TID() != tid || p.Attr() != attr || p.Modifier() != mod:
			t.Fatalf("read back %s", &p)
		case p.MKey() != key || p.CCKey() != key || p.HopPointer() != 5 || p.HopCount() != 9 || p.DrSLID() != 3 || p.DrDLID() != 4:
			t.Fatalf("read back SMP fields of %x", p[:36])
		case p.Direction() != back:
			t.Fatalf("direction %v: want %v", p.Direction(), back)
		case tail != [3]byte{p[2], p[18], p[19]}:
			t.Fatal("bytes of no field changed")
		}
	})
}

func TestSAHeaderRoundTrips(t *testing.T) {
	t.Parallel()
	p := mad.NewSA(mad.MethodGet, mad.AttrPathRecord, 0)
	r := mad.RMPP{Version: 1, Type: 2, RespTime: 31, Flags: 7, Status: 3, Data1: 0xdeadbeef, Data2: 0xcafe}
	if err := p.SetRMPP(r); err != nil {
		t.Fatal(err)
	}
	p.SetSMKey(0x0102030405060708)
	p.SetAttrOffset(8)
	p.SetComponentMask(mad.PathCompDLID | mad.PathCompSLID)
	if got := p.RMPP(); got != r {
		t.Errorf("RMPP header %+v: want %+v", got, r)
	}
	if want := "0102ff03deadbeef0000cafe01020304050607080008" + "0000" + "0000000000000030"; fmt.Sprintf("%x", p[24:56]) != want {
		t.Errorf("bytes 24-55 are %x: want %s", p[24:56], want)
	}
	if p.SMKey() != 0x0102030405060708 || p.AttrOffset() != 8 || p.ComponentMask() != 0x30 {
		t.Error("SM_Key, attribute offset or component mask changed")
	}
	var re *mad.RangeError
	if err := p.SetRMPP(mad.RMPP{Flags: 8}); !errors.As(err, &re) {
		t.Errorf("flags 8: error %v: want a RangeError", err)
	}
}

func TestRespondMakesTheResponse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		request, want mad.Method
	}{
		{mad.MethodGet, mad.MethodGetResp},
		{mad.MethodSet, mad.MethodGetResp},
		{mad.MethodGetTable, mad.MethodGetTableResp},
		{mad.MethodTrap, mad.MethodTrapRepress},
		{mad.MethodReport, 0x86},
	}
	for _, tt := range tests {
		for _, class := range []mad.Packet{mad.NewDirected(tt.request, 0x15, 0), mad.NewSMP(tt.request, 0x15, 0)} {
			p := class
			p.Respond(mad.StatusBusy)
			if p.Method() != tt.want || p.Status() != mad.StatusBusy || !p.IsResponse() {
				t.Errorf("response to %s is %s", tt.request, &p)
			}
			if dr := p.Class() == mad.ClassSubnDR; p.Direction() != dr {
				t.Errorf("direction bit %v in class %s", p.Direction(), p.Class())
			}
		}
	}
}

func TestRoutesOverTheHopLimitAreRefused(t *testing.T) {
	t.Parallel()
	p := mad.NewDirected(mad.MethodGet, mad.AttrNodeInfo, 0)
	if err := p.SetRoute(make([]ident.PortNum, mad.MaxHops)); err != nil {
		t.Errorf("%d hops: %v", mad.MaxHops, err)
	}
	if err := p.SetRoute(make([]ident.PortNum, mad.MaxHops+1)); err == nil {
		t.Errorf("%d hops: want an error", mad.MaxHops+1)
	}
}

func TestKeysNeverPrint(t *testing.T) {
	t.Parallel()
	k := struct{ K mad.Key }{0x1122334455667788}
	j, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{fmt.Sprintf("%v %+v %#v %d %x %s", k, k, k.K, k.K, k.K, k.K), string(j), k.K.String()} {
		if strings.Contains(s, "1122") || strings.Contains(s, "1234605616436508552") || !strings.Contains(s, "hidden") {
			t.Errorf("key printed as %s", s)
		}
	}
	if s := fmt.Sprint(mad.Key(0)); s != "none" {
		t.Errorf("zero key printed as %q: want none", s)
	}
}

func TestTextOfAStatus(t *testing.T) {
	t.Parallel()
	tests := []struct {
		s                 mad.Status
		want              string
		busy, unsupported bool
	}{
		{mad.StatusOK, "ok", false, false},
		{mad.StatusBusy, "busy (0x0001)", true, false},
		{mad.StatusRedirect, "redirect (0x0002)", false, false},
		{mad.StatusBadVersion, "class or version not supported (0x0004)", false, true},
		{mad.StatusBadMethod, "method not supported (0x0008)", false, true},
		{mad.StatusBadMethodAttr, "method and attribute not supported together (0x000c)", false, true},
		{mad.StatusInvalidAttrValue, "invalid attribute value or modifier (0x001c)", false, false},
		{0x0010, "reserved code (0x0010)", false, false},
		{mad.StatusBusy | mad.StatusBadMethodAttr, "busy, method and attribute not supported together (0x000d)", true, true},
		{mad.StatusSANoRecords, "no records (0x0300)", false, false},
		{mad.StatusSANoResources, "no resources (0x0100)", false, false},
		{mad.StatusSAInvalidRequest, "invalid request (0x0200)", false, false},
		{mad.StatusSATooManyRecords, "too many records (0x0400)", false, false},
		{mad.StatusSAInvalidGID, "invalid GID (0x0500)", false, false},
		{mad.StatusSAInsufficientComps, "insufficient components (0x0600)", false, false},
		{mad.StatusSADenied, "denied (0x0700)", false, false},
		{0x2000, "class-specific error (0x2000)", false, false},
	}
	for _, tt := range tests {
		if got := tt.s.String(); got != tt.want || tt.s.Busy() != tt.busy || tt.s.Unsupported() != tt.unsupported {
			t.Errorf("status 0x%04x is %q, busy %v, unsupported %v: want %q, %v, %v",
				uint16(tt.s), got, tt.s.Busy(), tt.s.Unsupported(), tt.want, tt.busy, tt.unsupported)
		}
	}
}

// stub answers every request in one way.
type stub struct {
	status mad.Status
	err    error
}

func (s stub) Exchange(_ context.Context, _ mad.Target, req *mad.Packet) (mad.Packet, error) {
	p := *req
	p.Respond(s.status)
	return p, s.err
}

func TestCallReturnsAStatusAsAnError(t *testing.T) {
	t.Parallel()
	req := mad.NewCC(mad.MethodSet, mad.AttrCACongestionSetting, 0, 1)
	to := mad.Target{LID: 12}
	if _, err := mad.Call(t.Context(), stub{}, to, &req); err != nil {
		t.Errorf("status 0: %v", err)
	}
	_, err := mad.Call(t.Context(), stub{status: mad.StatusInvalidAttrValue}, to, &req)
	var st *mad.StatusError
	if !errors.As(err, &st) || st.Status != mad.StatusInvalidAttrValue {
		t.Fatalf("error %v: want a StatusError", err)
	}
	if want := "LID 12: CACongestionSetting: status invalid attribute value or modifier (0x001c)"; err.Error() != want {
		t.Errorf("error %q: want %q", err, want)
	}
	_, err = mad.Call(t.Context(), stub{err: mad.ErrTimeout}, mad.Target{Path: ports(1, 2)}, &req)
	if !errors.Is(err, mad.ErrTimeout) || err.Error() != "DR path 0,1,2: CACongestionSetting: no response" {
		t.Errorf("error %q: want mad.ErrTimeout with the target", err)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	tests := []struct{ got, want string }{
		{mad.AttrName(mad.ClassSubnDR, 0x12), "SwitchInfo"},
		{mad.AttrName(mad.ClassPerf, 0x12), "PortCounters"},
		{mad.AttrName(mad.ClassCongestion, 0x12), "CongestionKeyInfo"},
		{mad.AttrName(mad.ClassSubnAdm, 0x35), "PathRecord"},
		{mad.AttrName(mad.ClassPerf, 0xff), "attribute 0x00ff"},
		{mad.AttrName(0x7, 0x11), "attribute 0x0011"},
		{mad.ClassCongestion.String(), "congestion control (0x21)"},
		{mad.Class(7).String(), "class (0x07)"},
		{mad.MethodTrapRepress.String(), "TrapRepress"},
		{mad.Method(0x42).String(), "method 0x42"},
		{(&mad.RangeError{Attribute: "PortInfo", Field: "LMC", Value: 9, Max: 7}).Error(), "PortInfo: LMC 9: want 0 to 7"},
		{(&mad.ShortError{Attribute: "PortInfo", Len: 3, Want: 64}).Error(), "PortInfo: 3 bytes: want at least 64"},
		{mad.NewGID(mad.DefaultGIDPrefix, 0x0002c90300a1b2c3).String(), "fe80:0000:0000:0000:0002:c903:00a1:b2c3"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestEveryKnownAttributeHasOneNameInItsClass(t *testing.T) {
	t.Parallel()
	want := map[mad.Class]int{mad.ClassSubnDR: 16, mad.ClassSubnLID: 16, mad.ClassSubnAdm: 4, mad.ClassPerf: 10, mad.ClassCongestion: 10}
	for class, n := range want {
		seen := map[string]bool{}
		for a := range mad.AttrID(0xffff) {
			if name := mad.AttrName(class, a); !strings.HasPrefix(name, "attribute ") {
				seen[name] = true
			}
		}
		if len(seen) != n {
			t.Errorf("%s has %d named attributes: want %d", class, len(seen), n)
		}
	}
}

func TestGIDJoinsPrefixAndGUID(t *testing.T) {
	t.Parallel()
	g := mad.NewGID(0xfe80000000000001, 0x1122334455667788)
	if g.Prefix() != 0xfe80000000000001 || g.GUID() != 0x1122334455667788 {
		t.Errorf("GID %s has prefix %x and GUID %s", g, g.Prefix(), g.GUID())
	}
}

func TestCodesOfMTUAndVLs(t *testing.T) {
	t.Parallel()
	mtu := map[uint8]uint16{0: 0, 1: 256, 2: 512, 3: 1024, 4: 2048, 5: 4096, 6: 0, 255: 0}
	vls := map[uint8]uint8{0: 0, 1: 1, 2: 2, 3: 4, 4: 8, 5: 15, 6: 0, 255: 0}
	for code, want := range mtu {
		if got := mad.MTUFromCode(code); got != want || want != 0 && mad.MTUCode(got) != code {
			t.Errorf("MTU code %d is %d bytes: want %d and back", code, got, want)
		}
	}
	for code, want := range vls {
		if got := mad.VLsFromCode(code); got != want || want != 0 && mad.VLCode(got) != code {
			t.Errorf("VL code %d is %d lanes: want %d and back", code, got, want)
		}
	}
	if mad.MTUCode(1500) != 0 || mad.VLCode(3) != 0 {
		t.Error("an MTU of 1500 or 3 VLs has a code: want none")
	}
}

func TestModifiers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		got, want uint32
	}{
		{"P_Key block of a switch port", mad.PKeyModifier(3, 2), 0x00030002},
		{"SL to VL of a port pair", mad.SLToVLModifier(1, 2), 0x0102},
		{"VL arbitration", mad.VLArbModifier(mad.VLArbHighFirst, 9), 0x00030009},
		{"multicast block", mad.MulticastModifier(15, 511), 0xf00001ff},
		{"multicast block out of range", mad.MulticastModifier(16, 512), 0},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: modifier 0x%08x: want 0x%08x", tt.name, tt.got, tt.want)
		}
	}
}

func TestNodeDescriptions(t *testing.T) {
	t.Parallel()
	d, err := mad.NewNodeDescription("node-7 HCA-1 \u00e9")
	if err != nil || d.String() != "node-7 HCA-1 \u00e9" {
		t.Errorf("description %q, error %v", d.String(), err)
	}
	full := strings.Repeat("x", 64)
	if d, err = mad.NewNodeDescription(full); err != nil || d.String() != full {
		t.Errorf("64 bytes: %q, error %v", d.String(), err)
	}
	for _, bad := range []string{full + "x", "a\x00b"} {
		if _, err := mad.NewNodeDescription(bad); err == nil {
			t.Errorf("description %q: want an error", bad)
		}
	}
	hostile := mad.NodeDescription{'a', 0x1b, '[', '\n', 0xff, 'z', 0, 'q'}
	if got := hostile.String(); got != "a [  z" {
		t.Errorf("malformed description reads %q: want control characters and bad UTF-8 as spaces, cut at NUL", got)
	}
}

func TestCongestionLogKind(t *testing.T) {
	t.Parallel()
	p := mad.NewCC(mad.MethodGet, mad.AttrCongestionLog, 0, 0)
	log := mad.CongestionLogCA{LogType: mad.LogTypeCA}
	if err := log.Encode(p.Data()); err != nil {
		t.Fatal(err)
	}
	if p[32] != mad.LogTypeCA || mad.LogTypeCA != 2 {
		t.Errorf("log starts with %x at byte 32", p[32:36])
	}
}

func BenchmarkPortInfoDecode(b *testing.B) {
	var p mad.PortInfo
	in := make([]byte, 64)
	b.ReportAllocs()
	for b.Loop() {
		if err := p.Decode(in); err != nil {
			b.Fatal(err)
		}
	}
}
