package adopt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"fairlane/ccconfig/nic/dcbnl"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/internal/phrase"
)

// dcbText is the output of "dcb -j OBJECT show dev DEV", for all objects together.
type dcbText struct {
	Willing    *bool      `json:"willing"`
	ETSCap     *uint8     `json:"ets_cap"`
	CBS        *bool      `json:"cbs"`
	TCBW       *[]uint16  `json:"tc_bw"`
	PGBW       *[]uint16  `json:"pg_bw"`
	TCTSA      *[]string  `json:"tc_tsa"`
	PrioTC     *[]uint16  `json:"prio_tc"`
	RecoTCBW   *[]uint16  `json:"reco_tc_bw"`
	RecoTCTSA  *[]string  `json:"reco_tc_tsa"`
	RecoPrioTC *[]uint16  `json:"reco_prio_tc"`
	PFCCap     *uint8     `json:"pfc_cap"`
	Bypass     *bool      `json:"macsec_bypass"`
	Delay      *uint16    `json:"delay"`
	PrioPFC    *[]bool    `json:"prio_pfc"`
	Requests   *[]uint64  `json:"requests"`
	Indicates  *[]uint64  `json:"indications"`
	EtherType  [][]uint16 `json:"ethtype_prio"`
	Default    []uint16   `json:"default_prio"`
	DSCP       [][]uint16 `json:"dscp_prio"`
	Stream     [][]uint16 `json:"stream_port_prio"`
	Datagram   [][]uint16 `json:"dgram_port_prio"`
	Any        [][]uint16 `json:"port_prio"`
	PCP        [][]uint16 `json:"pcp_prio"`
	MaxRate    *[]uint64  `json:"tc_maxrate"`
	PrioBuffer *[]uint16  `json:"prio_buffer"`
	BufferSize *[]uint32  `json:"buffer_size"`
	TotalSize  *uint32    `json:"total_size"`
}

// DCB parses dcb's JSON output for a port, with its objects one after the other in one text, as the managed objects of the
// port. It returns unknown names.
//
// Numbers of tc_maxrate are interpreted as the kernel's kbit/s. dcb of iproute2 6.1 uses a different unit, bytes/s, for the
// same attribute; its JSON contains the attribute's number unchanged.
func DCB(file, text string) (*dcbnl.IEEE, []Unknown, error) {
	if err := tooLong(file, len(text)); err != nil {
		return nil, nil, err
	}
	o, unknown := &dcbnl.IEEE{}, []Unknown(nil)
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	for n := 0; ; n++ {
		var raw json.RawMessage
		err := d.Decode(&raw)
		if errors.Is(err, io.EOF) && n > 0 {
			return o, unknown, nil
		}
		if err != nil {
			return nil, nil, jsonError(file, text, d.InputOffset(), err)
		}
		line := lineAt(text, d.InputOffset())
		names, err := unknownNames(raw)
		if err != nil {
			return nil, nil, &ParseError{File: file, Line: line, Found: quoted(string(raw)), Allowed: phrase.Of("adopt.want-dcb")}
		}
		for _, name := range names {
			unknown = append(unknown, Unknown{Name: name, File: file, Line: line})
		}
		var t dcbText
		if err := json.Unmarshal(raw, &t); err != nil {
			return nil, nil, dcbTypeError(file, line, err)
		}
		if err := t.into(file, line, o); err != nil {
			return nil, nil, err
		}
	}
}

// DCBState parses dcb's JSON as state of a port. Without an application table, the trust mode is unknown. A text without any
// dcb object is an error.
func DCBState(file, text string, port int) (*State, error) {
	o, unknown, err := DCB(file, text)
	if err != nil {
		return nil, err
	}
	table := nicparam.New(nicparam.Caps{})
	s := &State{Unknown: unknown}
	for _, v := range o.Settings(port) {
		if v.Name == "trust" && len(o.Apps) == 0 {
			continue
		}
		if p, ok := table.Find(v.Name); ok && !p.Legal(v.Value) {
			return nil, &ParseError{File: file, Field: v.Key.String(), Found: phrase.Verbatim(fmt.Sprint(v.Value)), Allowed: allowed(p)}
		}
		s.Settings = append(s.Settings, Found{Setting: v, Stage: StageCurrent, By: nicparam.DCB, File: file})
	}
	if len(s.Settings) == 0 && len(unknown) > 0 {
		return nil, &ParseError{File: file, Line: unknown[0].Line, Found: quoted(unknown[0].Name), Allowed: phrase.Of("adopt.want-dcb")}
	}
	return s, nil
}

func dcbTypeError(file string, line int, err error) error {
	var te *json.UnmarshalTypeError
	if errors.As(err, &te) {
		return &ParseError{File: file, Line: line, Field: te.Field, Found: phrase.Verbatim(te.Value), Allowed: phrase.Verbatim(te.Type.String())}
	}
	return &ParseError{File: file, Line: line, Found: phrase.Verbatim(err.Error()), Allowed: phrase.Of("adopt.want-dcb")}
}

// unknownNames returns the members of an object that dcbText does not have, sorted.
func unknownNames(raw []byte) ([]string, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, err
	}
	if members == nil {
		return nil, errors.New("null")
	}
	return notIn(members, &dcbText{}), nil
}

// fixed copies an array that must have eight elements.
func fixed[T any](file string, line int, field string, from *[]T, to *[8]T) error {
	if from == nil {
		return nil
	}
	if len(*from) != len(to) {
		return &ParseError{File: file, Line: line, Field: field, Found: phrase.Of("adopt.values", "n", len(*from)), Allowed: phrase.Verbatim("8")}
	}
	copy(to[:], *from)
	return nil
}

// octets copies an array that must have eight numbers up to 255. They are not decoded as bytes, for which JSON has another
// form.
func octets(file string, line int, field string, from *[]uint16, to *[8]uint8) error {
	var wide [8]uint16
	if err := fixed(file, line, field, from, &wide); err != nil || from == nil {
		return err
	}
	for i, v := range wide {
		if v > 255 {
			return &ParseError{File: file, Line: line, Field: fmt.Sprintf("%s[%d]", field, i), Found: phrase.Verbatim(fmt.Sprint(v)), Allowed: phrase.Verbatim("0..255")}
		}
		to[i] = uint8(v)
	}
	return nil
}

func tsaCodes(file string, line int, field string, from *[]string, to *[8]uint8) error {
	if from == nil {
		return nil
	}
	p, _ := nicparam.New(nicparam.Caps{}).Find("tsa")
	codes := make([]uint16, len(*from))
	for i, word := range *from {
		v, err := p.Parse(word)
		if err != nil || !p.Legal(v) {
			return &ParseError{File: file, Line: line, Field: fmt.Sprintf("%s[%d]", field, i), Found: quoted(word), Allowed: allowed(p)}
		}
		codes[i] = uint16(v)
	}
	return octets(file, line, field, &codes, to)
}

// into adds the objects of a text.
func (t *dcbText) into(file string, line int, o *dcbnl.IEEE) error {
	var errs []error
	check := func(err error) { errs = append(errs, err) }
	if t.TCBW != nil || t.TCTSA != nil || t.PrioTC != nil {
		if t.TCBW == nil || t.TCTSA == nil || t.PrioTC == nil {
			return &ParseError{File: file, Line: line, Found: phrase.Of("adopt.some-ets"), Allowed: phrase.Of("adopt.want-all-ets")}
		}
		e := &dcbnl.ETS{Willing: t.Willing != nil && *t.Willing, CBS: t.CBS != nil && *t.CBS}
		if t.ETSCap != nil {
			e.Cap = *t.ETSCap
		}
		check(octets(file, line, "tc_bw", t.TCBW, &e.TxBW))
		check(octets(file, line, "pg_bw", t.PGBW, &e.RxBW))
		check(tsaCodes(file, line, "tc_tsa", t.TCTSA, &e.TSA))
		check(octets(file, line, "prio_tc", t.PrioTC, &e.PrioTC))
		check(octets(file, line, "reco_tc_bw", t.RecoTCBW, &e.RecoBW))
		check(tsaCodes(file, line, "reco_tc_tsa", t.RecoTCTSA, &e.RecoTSA))
		check(octets(file, line, "reco_prio_tc", t.RecoPrioTC, &e.RecoPrioTC))
		o.ETS = e
	}
	if t.PrioPFC != nil {
		check(t.pfc(file, line, o))
	}
	if t.MaxRate != nil {
		o.MaxRate = &[8]uint64{}
		check(fixed(file, line, "tc_maxrate", t.MaxRate, o.MaxRate))
	}
	if t.PrioBuffer != nil && t.BufferSize != nil {
		o.Buffer = &dcbnl.Buffer{}
		if t.TotalSize != nil {
			o.Buffer.Total = *t.TotalSize
		}
		check(octets(file, line, "prio_buffer", t.PrioBuffer, &o.Buffer.PrioBuffer))
		check(fixed(file, line, "buffer_size", t.BufferSize, &o.Buffer.Size))
	}
	check(t.apps(file, line, o))
	return errors.Join(errs...)
}

func (t *dcbText) pfc(file string, line int, o *dcbnl.IEEE) error {
	p := &dcbnl.PFC{MBC: t.Bypass != nil && *t.Bypass}
	if t.PFCCap != nil {
		p.Cap = *t.PFCCap
	}
	if t.Delay != nil {
		p.Delay = *t.Delay
	}
	var on [8]bool
	err := errors.Join(fixed(file, line, "prio_pfc", t.PrioPFC, &on), fixed(file, line, "requests", t.Requests, &p.Requests),
		fixed(file, line, "indications", t.Indicates, &p.Indications))
	for i, b := range on {
		if b {
			p.Enabled |= 1 << i
		}
	}
	o.PFC = p
	return err
}

// apps adds the entries of the application table.
func (t *dcbText) apps(file string, line int, o *dcbnl.IEEE) error {
	for i, prio := range t.Default {
		if prio > 7 {
			return &ParseError{File: file, Line: line, Field: fmt.Sprintf("default_prio[%d]", i), Found: phrase.Verbatim(fmt.Sprint(prio)), Allowed: phrase.Verbatim("0..7")}
		}
		o.Apps = append(o.Apps, dcbnl.App{Selector: dcbnl.SelectorEtherType, Priority: uint8(prio)})
	}
	for _, g := range []struct {
		field    string
		selector uint8
		most     uint16
		pairs    [][]uint16
	}{
		{"ethtype_prio", dcbnl.SelectorEtherType, 65535, t.EtherType}, {"stream_port_prio", dcbnl.SelectorStream, 65535, t.Stream},
		{"dgram_port_prio", dcbnl.SelectorDatagram, 65535, t.Datagram}, {"port_prio", dcbnl.SelectorAny, 65535, t.Any},
		{"dscp_prio", dcbnl.SelectorDSCP, 63, t.DSCP}, {"pcp_prio", dcbnl.SelectorPCP, 15, t.PCP},
	} {
		for i, pair := range g.pairs {
			if len(pair) != 2 || pair[0] > g.most || pair[1] > 7 {
				return &ParseError{File: file, Line: line, Field: fmt.Sprintf("%s[%d]", g.field, i), Found: phrase.Verbatim(fmt.Sprint(pair)), Allowed: phrase.Of("adopt.want-pair", "max", g.most)}
			}
			o.Apps = append(o.Apps, dcbnl.App{Selector: g.selector, Priority: uint8(pair[1]), Protocol: pair[0]})
		}
	}
	if len(o.Apps) > dcbnl.MaxApps {
		return &ParseError{File: file, Line: line, Found: phrase.Of("adopt.apps", "n", len(o.Apps)), Allowed: phrase.Of("want.most", "max", dcbnl.MaxApps)}
	}
	return nil
}
