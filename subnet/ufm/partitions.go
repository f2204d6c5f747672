package ufm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"fairlane/subnet/ident"
)

// Partition is a partition in UFM, current or desired.
type Partition struct {
	PKey    ident.PKey // base, without the membership bit
	SL      ident.SL
	IPoIB   bool     // has the broadcast group of IP over InfiniBand
	Members []Member // by port, each port once
	qos     *qos
}

// Member is a port in a partition.
type Member struct {
	Port ident.GUID
	Full bool // or limited: limited members cannot communicate with each other
}

// Forms of the API.
type (
	// qos is sent back complete, with only the service level changed, so that UFM keeps the limits that its operator
	// set.
	qos struct {
		MTULimit     int      `json:"mtu_limit"`
		ServiceLevel ident.SL `json:"service_level"`
		RateLimit    float64  `json:"rate_limit"`
	}
	partitionForm struct {
		IPoIB bool `json:"ip_over_ib"`
		QoS   *qos `json:"qos_conf"`
		GUIDs []struct {
			GUID       string `json:"guid"`
			Membership string `json:"membership"`
		} `json:"guids"`
	}
	addForm struct {
		PKey         string   `json:"pkey"`
		Index0       bool     `json:"index0"`
		IPoIB        bool     `json:"ip_over_ib"`
		ServiceLevel ident.SL `json:"service_level"`
	}
	membersForm struct {
		PKey       string   `json:"pkey"`
		Index0     bool     `json:"index0"`
		IPoIB      bool     `json:"ip_over_ib"`
		Membership string   `json:"membership"`
		GUIDs      []string `json:"guids"`
	}
	removeForm struct {
		PKey  string   `json:"pkey"`
		GUIDs []string `json:"guids"`
	}
	qosForm struct {
		PKey string `json:"pkey"`
		qos
	}
)

// Partitions reads all partitions, by P_Key.
func (c *Client) Partitions(ctx context.Context) ([]Partition, error) {
	var form map[string]partitionForm
	if err := c.call(ctx, http.MethodGet, "/resources/pkeys?guids_data=true&qos_conf=true", nil, &form); err != nil {
		return nil, fmt.Errorf("read partitions: %w", err)
	}
	out := make([]Partition, 0, len(form))
	for key, f := range form {
		p, err := f.partition(key)
		if err != nil {
			return nil, fmt.Errorf("read partitions: partition %.20q: %w", key, err)
		}
		out = append(out, p)
	}
	slices.SortFunc(out, byKey)
	for i := 1; i < len(out); i++ {
		if out[i].PKey == out[i-1].PKey {
			return nil, fmt.Errorf("read partitions: found %s twice, with and without the membership bit", out[i].PKey)
		}
	}
	return out, nil
}

func byKey(a, b Partition) int { return cmp.Compare(a.PKey, b.PKey) }

func (f partitionForm) partition(key string) (Partition, error) {
	k, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(key), "0x"), 16, 16)
	if err != nil || ident.PKey(k).Base() == 0 {
		return Partition{}, errors.New("want a hexadecimal P_Key, 0x1 to 0x7fff without the membership bit")
	}
	p := Partition{PKey: ident.PKey(k).Base(), IPoIB: f.IPoIB, qos: f.QoS}
	if f.QoS != nil {
		if p.SL = f.QoS.ServiceLevel; p.SL >= ident.NumSLs {
			return Partition{}, fmt.Errorf("service level %d: want 0 to %d", p.SL, ident.NumSLs-1)
		}
	}
	for _, g := range f.GUIDs {
		guid, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(g.GUID), "0x"), 16, 64)
		if err != nil || guid == 0 {
			return Partition{}, fmt.Errorf("member %.30q: want a port GUID", g.GUID)
		}
		if g.Membership != "full" && g.Membership != "limited" {
			return Partition{}, fmt.Errorf("membership %.20q of %016x: want full or limited", g.Membership, guid)
		}
		p.Members = append(p.Members, Member{Port: ident.GUID(guid), Full: g.Membership == "full"})
	}
	return p, p.sort()
}

// sort sorts the members. It fails on a duplicate port.
func (p *Partition) sort() error {
	slices.SortFunc(p.Members, func(a, b Member) int { return cmp.Compare(a.Port, b.Port) })
	for i := 1; i < len(p.Members); i++ {
		if p.Members[i].Port == p.Members[i-1].Port {
			return fmt.Errorf("port %s is a member twice: want it once", p.Members[i].Port)
		}
	}
	return nil
}

// validate rejects a partition that must not be placed. It sorts the members.
func (p *Partition) validate() error {
	switch {
	case p.PKey.Base() != p.PKey || p.PKey == 0:
		return fmt.Errorf("partition %s: want 0x1 to 0x7ffe, without the membership bit", p.PKey)
	case p.PKey == ident.DefaultPKey.Base():
		return fmt.Errorf("partition %s is UFM's own, which every port is in: want a partition for each tenant", p.PKey)
	case p.SL >= ident.NumSLs:
		return fmt.Errorf("partition %s: service level %d: want 0 to %d", p.PKey, p.SL, ident.NumSLs-1)
	}
	if err := p.sort(); err != nil {
		return fmt.Errorf("partition %s: %w", p.PKey, err)
	}
	return nil
}

func keyForm(k ident.PKey) string { return fmt.Sprintf("0x%x", uint16(k)) }

func guidForms(ms []Member) []string {
	out := make([]string, len(ms))
	for i, m := range ms {
		out[i] = fmt.Sprintf("%016x", uint64(m.Port))
	}
	return out
}
