package nicyang

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"fairlane/ccconfig/nic/nicparam"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

// Number is an unsigned number, a string as JSON_IETF encodes 64 bits, or a plain number.
type Number uint64

// UnmarshalJSON decodes both forms.
func (n *Number) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseUint(strings.Trim(string(b), `"`), 10, 64)
	if err != nil {
		return fmt.Errorf("found %.32s, want 0..18446744073709551615", b)
	}
	*n = Number(v)
	return nil
}

// PortView is the answer to a Get of a port. A part that is not in the answer is nil.
type PortView struct {
	Number    Number
	State     *PortState
	Params    []ParamView
	Counters  []CounterView
	Functions []FunctionView
	WRCC      *WRCCView
	// CounterSets are the sets with bound queue pairs; CounterSetsProblem is the reason for which there are none.
	CounterSets        []CounterSetView
	CounterSetsProblem string
}

// PortState is the state container of a port.
type PortState struct {
	ID           ident.PortID `json:"id"`
	NetDev       string       `json:"net-dev"`
	RDMADevice   string       `json:"rdma-device"`
	RDMAPort     uint32       `json:"rdma-port"`
	MAC          string       `json:"mac"`
	SpeedMbps    Number       `json:"speed-mbps"` // 0 while the link is down
	OperUp       bool         `json:"oper-up"`
	Functions    uint32       `json:"virtual-functions"`
	ServesPods   bool         `json:"serves-pods"` // functions have the tenants of their pods
	Algorithm    string       `json:"algorithm"`   // name in ccalgo; empty: not reported
	Evidence     string       `json:"algorithm-evidence"`
	WRCCSenders  uint32       `json:"wrcc-senders"`
	RuntimeNames []string     `json:"runtime-parameter"`
	ResetNames   []string     `json:"reset-parameter"`
}

// ParamView is an entry of params. Config is nil if the value is unreadable or was not requested.
type ParamView struct {
	Name   string `json:"name"`
	Index  Number `json:"index"`
	Config *struct {
		Value *Number `json:"value"`
	} `json:"config"`
	State *ParamState `json:"state"`
}

// Value returns the configured value; false if there is none.
func (p *ParamView) Value() (uint64, bool) {
	if p.Config == nil || p.Config.Value == nil {
		return 0, false
	}
	return uint64(*p.Config.Value), true
}

// ParamState is the state container of a parameter. Absent numbers are nil.
type ParamState struct {
	Value        *Number `json:"value"`
	Backend      string  `json:"back-end"`
	Persistence  string  `json:"persistence"`
	Cost         string  `json:"cost"`
	Unit         string  `json:"unit"`
	Min          *Number `json:"min"`
	Max          *Number `json:"max"`
	Allowed      string  `json:"allowed"`
	Default      *Number `json:"default"`
	NextValue    *Number `json:"next-value"`
	PendingReset bool    `json:"pending-reset"`
	SetValue     *Number `json:"set-value"`
	Outcome      string  `json:"outcome"`
	Problem      string  `json:"problem"`
}

// CounterView is an entry of counters.
type CounterView struct {
	Name  string `json:"name"`
	State struct {
		Value   *Number `json:"value"` // nil if unreadable
		Problem string  `json:"problem"`
	} `json:"state"`
}

// CounterSetView is an entry of counter-sets.
type CounterSetView struct {
	ID    Number `json:"id"`
	State struct {
		Mode    string   `json:"mode"`
		Process string   `json:"process"`
		PID     uint32   `json:"pid"`
		QPCount uint32   `json:"qp-count"`
		QPs     []uint32 `json:"qps"` // at most MaxQPs
	} `json:"state"`
	Counters struct {
		Counter []CounterView `json:"counter"`
	} `json:"counters"`
}

// FunctionView is an entry of functions.
type FunctionView struct {
	Index Number `json:"index"`
	State struct {
		Name       string  `json:"name"`
		RDMADevice string  `json:"rdma-device"` // empty while it is in another network namespace
		Tenant     string  `json:"tenant"`      // of the pod that has it; empty: none
		TxOctets   *Number `json:"tx-octets"`   // nil if unreadable
		RxOctets   *Number `json:"rx-octets"`
		Problem    string  `json:"problem"`
	} `json:"state"`
	Counters struct {
		Counter []CounterView `json:"counter"`
		State   struct {
			Problem string `json:"problem"` // why there are none
		} `json:"state"`
	} `json:"counters"`
}

// WRCCView is the wrcc container.
type WRCCView struct {
	Config *struct {
		Domain      uint16 `json:"domain"`
		T1Us        uint16 `json:"t1-us"`
		MinRateMbps uint32 `json:"min-rate-mbps"`
		Increase    string `json:"increase"`
	} `json:"config"`
	Senders struct {
		Sender []SenderView `json:"sender"`
	} `json:"senders"`
	State struct {
		Outcome string `json:"outcome"`
		Problem string `json:"problem"`
	} `json:"state"`
}

// SenderView is an entry of senders.
type SenderView struct {
	Name   string            `json:"name"`
	Config *wrcc.FixedWeight `json:"config"`
	Peers  struct {
		Peer []struct {
			Port   ident.PortID     `json:"port"`
			Config wrcc.FixedWeight `json:"config"`
		} `json:"peer"`
	} `json:"peers"`
	State struct {
		TxOctets *Number `json:"tx-octets"` // nil if unreadable
		Problem  string  `json:"problem"`
	} `json:"state"`
}

// NICConfig returns the configuration in the form of package wrcc, sorted; nil if the answer had none.
func (w *WRCCView) NICConfig() *wrcc.NICConfig {
	if w == nil || w.Config == nil {
		return nil
	}
	c := &wrcc.NICConfig{Domain: w.Config.Domain, T1Us: w.Config.T1Us, MinRateMbps: w.Config.MinRateMbps, Increase: w.Config.Increase}
	for _, s := range w.Senders.Sender {
		if s.Config == nil {
			continue
		}
		out := wrcc.SenderWeight{Name: s.Name, Weight: *s.Config}
		for _, p := range s.Peers.Peer {
			out.Peers = append(out.Peers, wrcc.PeerWeight{Port: p.Port, Weight: p.Config})
		}
		c.Senders = append(c.Senders, out)
	}
	c.Sort()
	return c
}

// DecodePort decodes the JSON value of a port from a Get.
func DecodePort(value []byte) (*PortView, error) {
	parts, err := members(value)
	if err != nil {
		return nil, fmt.Errorf("port: %w", err)
	}
	out := &PortView{}
	var params struct {
		Param []ParamView `json:"param"`
	}
	var counters struct {
		Counter []CounterView `json:"counter"`
	}
	var functions struct {
		Function []FunctionView `json:"function"`
	}
	var sets struct {
		State struct {
			Problem string `json:"problem"`
		} `json:"state"`
		Set []CounterSetView `json:"counter-set"`
	}
	for name, into := range map[string]any{"counter-sets": &sets, "number": &out.Number, "state": &out.State, "params": &params, "counters": &counters, "functions": &functions, "wrcc": &out.WRCC} {
		b, ok := parts[name]
		if !ok {
			continue
		}
		if err := json.Unmarshal(b, into); err != nil {
			return nil, fmt.Errorf("port: %s: %w", name, err)
		}
	}
	out.Params, out.Counters, out.Functions = params.Param, counters.Counter, functions.Function
	out.CounterSets, out.CounterSetsProblem = sets.Set, sets.State.Problem
	return out, nil
}

// Set returns the parameters with a value as settings of a port.
func (v *PortView) Set(port int) []nicparam.Setting {
	var out []nicparam.Setting
	for i := range v.Params {
		p := &v.Params[i]
		if value, ok := p.Value(); ok && p.Index <= 1<<31 {
			out = append(out, nicparam.Setting{Key: nicparam.Key{Port: port, Name: p.Name, Index: int(p.Index)}, Value: value})
		}
	}
	return out
}

// members splits an object, and removes the module prefix from the names of its members.
func members(value []byte) (map[string]json.RawMessage, error) {
	var qualified map[string]json.RawMessage
	if err := json.Unmarshal(value, &qualified); err != nil {
		return nil, err
	}
	out := make(map[string]json.RawMessage, len(qualified))
	for k, v := range qualified {
		out[strings.TrimPrefix(k, Module+":")] = v
	}
	return out, nil
}
