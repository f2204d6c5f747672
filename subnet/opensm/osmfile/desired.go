package osmfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlane/subnet/ident"
)

// Member is a port in a partition.
type Member struct {
	PortGUID ident.GUID `json:"port_guid"`
	Full     bool       `json:"full"` // two limited members cannot communicate
}

// Partition is a tenant's partition with the service level of its traffic.
type Partition struct {
	Tenant  string     `json:"tenant"`
	PKey    ident.PKey `json:"pkey"` // without the membership bit: 0x0001 to 0x7ffe
	SL      ident.SL   `json:"sl"`   // 0 to 15
	IPoIB   bool       `json:"ipoib,omitempty"`
	MTU     uint8      `json:"mtu,omitempty"`  // code of the broadcast group, 1 to 5; 0 is OpenSM's default
	Rate    uint8      `json:"rate,omitempty"` // code of the broadcast group; 0 is OpenSM's default
	All     bool       `json:"all,omitempty"`  // every port is a full member; Members then only list the tenants' ports
	Members []Member   `json:"members,omitempty"`
	Groups  []Group    `json:"groups,omitempty"` // members whose service level is not SL
	// Kept means that the operator defines the partition: it is not written, only proven.
	Kept bool `json:"kept,omitempty"`
}

// Desired is the desired content of the files.
type Desired struct {
	Partitions []Partition
	Lanes      []Lanes

	also [][2]string // option lines kept from before
}

// normal returns the same state in order: partitions by P_Key, members by GUID, lanes by kind, without duplicates.
func (d Desired) normal() Desired {
	out := Desired{Partitions: slices.Clone(d.Partitions), Lanes: slices.Clone(d.Lanes), also: d.also}
	for i := range out.Partitions {
		p := &out.Partitions[i]
		p.PKey = p.PKey.Base()
		p.Members, p.Groups = joinMembers(p.Members, nil), normalGroups(p.Groups)
	}
	slices.SortStableFunc(out.Partitions, func(a, b Partition) int {
		return cmp.Or(cmp.Compare(a.PKey, b.PKey), cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.SL, b.SL))
	})
	slices.SortStableFunc(out.Lanes, func(a, b Lanes) int { return cmp.Compare(a.Kind, b.Kind) })
	return out
}

// joinMembers returns the union of the ports. A port is full when it is full in a or b.
func joinMembers(a, b []Member) []Member {
	out := slices.Concat(a, b)
	slices.SortFunc(out, func(a, b Member) int {
		if c := cmp.Compare(a.PortGUID, b.PortGUID); c != 0 || a.Full == b.Full {
			return c
		}
		if a.Full {
			return -1
		}
		return 1
	})
	return slices.CompactFunc(out, func(a, b Member) bool { return a.PortGUID == b.PortGUID })
}

// Prepare returns the first of two steps to the desired state: its entries plus those already in Fairlane's part of the
// files, so that moving traffic loses nothing. The second step is the desired state itself.
func Prepare(cur Texts, d Desired) Desired {
	out := d.normal()
	for _, old := range Ours(cur) {
		i := slices.IndexFunc(out.Partitions, func(p Partition) bool { return p.PKey == old.PKey })
		if i < 0 {
			out.Partitions = append(out.Partitions, old)
			continue
		}
		p := &out.Partitions[i]
		p.All = p.All || old.All
		p.Groups = joinGroups(p, &old)
		p.Members = joinMembers(p.Members, old.Members)
	}
	out.also = ourOptions(cur.Options.Data)
	return out.normal()
}

// Ours lists the partitions in Fairlane's part of partitions.conf, by P_Key, with their port groups in its part of the
// policy; the names in both parts are the tenants.
func Ours(cur Texts) []Partition {
	b, err := FindBlock(cur.Partitions.Data)
	if err != nil || !b.Found {
		return nil
	}
	var out []Partition
	stanzas, _ := ReadPartitions(b.Body)
	groups := ourGroups(cur.Policy.Data)
	for _, s := range stanzas {
		if s.PKey == 0 || s.PKey == ident.DefaultPKey.Base() {
			continue
		}
		p := Partition{Tenant: s.Name, PKey: s.PKey, SL: s.SL, IPoIB: s.IPoIB, MTU: s.MTU, Rate: s.Rate, Groups: groups[s.PKey]}
		for _, m := range s.Members {
			switch m.Word {
			case "ALL":
				p.All = true
			case "":
				p.Members = append(p.Members, Member{PortGUID: m.GUID, Full: m.Full})
			}
		}
		out = append(out, p)
	}
	return Desired{Partitions: out}.normal().Partitions
}

// ourOptions returns the keys and values in Fairlane's part of opensm.conf.
func ourOptions(text string) [][2]string {
	b, err := FindBlock(text)
	if err != nil || !b.Found {
		return nil
	}
	var out [][2]string
	for _, o := range ReadOptions(b.Body).all {
		out = append(out, [2]string{o.key, o.value})
	}
	return out
}

// maxName is the longest name of a partition that OpenSM does not truncate, in bytes.
const maxName = 31

// stanzaName returns the tenant's name where OpenSM accepts it, else one based on the P_Key.
func stanzaName(p Partition) string {
	plain := p.Tenant != "" && len(p.Tenant) <= maxName && !strings.EqualFold(p.Tenant, "default")
	for i, c := range p.Tenant {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		plain = plain && (letter || i > 0 && (c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.'))
	}
	if !plain {
		return fmt.Sprintf("pkey-%04x", uint16(p.PKey))
	}
	return p.Tenant
}

// membersOnLine is the number of members on a line of a stanza; it stays far below partitionsLine.
const membersOnLine = 8

// stanza writes a partition.
func stanza(p Partition) string {
	var s strings.Builder
	if name := stanzaName(p); name != p.Tenant {
		fmt.Fprintf(&s, "# tenant %q\n", p.Tenant)
	}
	fmt.Fprintf(&s, "%s=0x%04x", stanzaName(p), uint16(p.PKey))
	if p.IPoIB {
		s.WriteString(",ipoib")
		if p.Rate > 0 {
			fmt.Fprintf(&s, ",rate=%d", p.Rate)
		}
		if p.MTU > 0 {
			fmt.Fprintf(&s, ",mtu=%d", p.MTU)
		}
	}
	fmt.Fprintf(&s, ",sl=%d:", p.SL)
	if p.All {
		s.WriteString("ALL=full;\n")
		return s.String()
	}
	for i, m := range p.Members {
		if i%membersOnLine == 0 {
			s.WriteString("\n    ")
		}
		word := "limited"
		if m.Full {
			word = "full"
		}
		fmt.Fprintf(&s, "%s=%s", m.PortGUID, word)
		if i < len(p.Members)-1 {
			s.WriteByte(',')
		}
	}
	s.WriteString(";\n")
	return s.String()
}
