package agent

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fairlane/ccconfig/nic/nicparam"
	"fairlane/wrcc"
)

// memory is the agent's state across restarts: the journal's document.
type memory struct {
	Sequence   uint64                 `json:"sequence"`   // transactions
	Generation uint64                 `json:"generation"` // changes of configured values
	Last       lastSet                `json:"last"`
	Cards      map[string]*cardMemory `json:"cards"` // by identity
	// Intent is a transaction in progress: the earlier values of everything it touches.
	Intent map[string]*before `json:"intent,omitempty"` // by the card's identity
	// Pending identifies that transaction: its name and start.
	Pending *lastSet `json:"pending,omitempty"`
}

// lastSet is the result of the last transaction.
type lastSet struct {
	ID          string    `json:"id,omitempty"`
	Time        time.Time `json:"time"`
	Outcome     string    `json:"outcome"`
	Detail      string    `json:"detail,omitempty"`
	NotRestored []string  `json:"not_restored,omitempty"`
}

// Outcomes of transactions, as in the module.
const (
	setNone        = "none"
	setDone        = "done"
	setUndone      = "undone"
	setPartial     = "partial"
	setInterrupted = "interrupted"
)

// cardMemory holds what was set on a card, and the values before the agent first wrote them.
type cardMemory struct {
	Name        string               `json:"name"` // of the card when it was last seen
	Boot        string               `json:"boot"` // and Incarnation: when Desired was last known to be in force
	Incarnation string               `json:"incarnation"`
	Nodes       []string             `json:"nodes,omitempty"` // node GUIDs of its ports seen so far
	Desired     settings             `json:"desired,omitempty"`
	Original    settings             `json:"original,omitempty"`
	WRCC        map[int]*wrccOfAPort `json:"wrcc,omitempty"` // by port
	// Again lists the values that are already restored in the card's current boot and incarnation while others are
	// not; nil for none. It is replaced, never changed.
	Again *again `json:"again,omitempty"`
}

// again lists the values that were set, again or for the first time, in one boot and incarnation of a card.
type again struct {
	Boot        string         `json:"boot"`
	Incarnation string         `json:"incarnation"`
	Params      []nicparam.Key `json:"params,omitempty"` // in order
	WRCC        []int          `json:"wrcc,omitempty"`   // ports, ascending
}

func (g *again) same(o *again) bool {
	if g == nil || o == nil {
		return g == o
	}
	return g.Boot == o.Boot && g.Incarnation == o.Incarnation && slices.Equal(g.Params, o.Params) && slices.Equal(g.WRCC, o.WRCC)
}

type wrccOfAPort struct {
	Desired  *wrcc.NICConfig `json:"desired,omitempty"`
	Original *wrcc.NICConfig `json:"original,omitempty"`
}

// before is the state of a card before a transaction.
type before struct {
	Params settings                `json:"params,omitempty"`
	WRCC   map[int]*wrcc.NICConfig `json:"wrcc,omitempty"`
}

// settings are sorted by key, without duplicates.
type settings []nicparam.Setting

func compareKeys(a, b nicparam.Key) int {
	return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Index, b.Index))
}

func (s settings) find(k nicparam.Key) (int, bool) {
	return slices.BinarySearchFunc(s, k, func(x nicparam.Setting, k nicparam.Key) int { return compareKeys(x.Key, k) })
}

func (s settings) value(k nicparam.Key) (uint64, bool) {
	i, ok := s.find(k)
	if !ok {
		return 0, false
	}
	return s[i].Value, true
}

func (s *settings) put(k nicparam.Key, v uint64) {
	i, ok := s.find(k)
	if ok {
		(*s)[i].Value = v
		return
	}
	*s = slices.Insert(*s, i, nicparam.Setting{Key: k, Value: v})
}

func (s *settings) drop(k nicparam.Key) {
	if i, ok := s.find(k); ok {
		*s = slices.Delete(*s, i, i+1)
	}
}

// interrupt records an unfinished transaction as the last one. Its earlier values remain to be restored.
func (m *memory) interrupt() {
	if m.Pending == nil {
		return
	}
	m.Sequence++
	m.Last, m.Pending = *m.Pending, nil
	m.Last.Outcome, m.Last.Detail = setInterrupted, interruptedDetail
}

const interruptedDetail = "the agent ended during a transaction; it restores the earlier values when it starts again, and those of absent cards when they return"

// clone copies a card's memory as deep as it can change.
func (m *cardMemory) clone() *cardMemory {
	out := *m
	out.Desired, out.Original = slices.Clone(m.Desired), slices.Clone(m.Original)
	out.WRCC = make(map[int]*wrccOfAPort, len(m.WRCC))
	for port, w := range m.WRCC {
		copied := *w
		out.WRCC[port] = &copied // configurations are replaced, never changed
	}
	return &out
}

// same reports whether two memories of a card are equal.
func (m *cardMemory) same(o *cardMemory) bool {
	if o == nil {
		return m.empty()
	}
	if m.Name != o.Name || m.Boot != o.Boot || m.Incarnation != o.Incarnation || !slices.Equal(m.Desired, o.Desired) || !slices.Equal(m.Original, o.Original) || !slices.Equal(m.Nodes, o.Nodes) ||
		len(m.WRCC) != len(o.WRCC) || !m.Again.same(o.Again) {
		return false
	}
	for port, w := range m.WRCC {
		if x := o.WRCC[port]; x == nil || (w.Desired == nil) != (x.Desired == nil) || w.Desired != nil && !sameWRCC(w.Desired, x.Desired) {
			return false
		}
	}
	return true
}

// empty reports whether a card has nothing to store.
func (m *cardMemory) empty() bool {
	return len(m.Desired) == 0 && len(m.Original) == 0 && len(m.WRCC) == 0
}

// nodes adds the node GUIDs of a card's ports to the known ones.
func (m *cardMemory) nodes(n *NIC) {
	for i := range n.Ports {
		if g := n.Ports[i].ID.Node; g != 0 && !slices.Contains(m.Nodes, g.String()) {
			m.Nodes = append(slices.Clone(m.Nodes), g.String())
		}
	}
}

// identity returns the known identity of a card: each function of a card has its own node GUID, and the first one may be
// absent, assigned to a guest or while the driver loads.
func (m *memory) identity(n *NIC) string {
	own := n.identity()
	if m.Cards[own] != nil || m.Intent[own] != nil {
		return own
	}
	for _, id := range slices.Sorted(maps.Keys(m.Cards)) {
		if slices.ContainsFunc(n.Ports, func(p Port) bool {
			g := p.ID.Node.String()
			return g == id || slices.Contains(m.Cards[id].Nodes, g)
		}) {
			return id
		}
	}
	return own
}

// of returns the memory of a card, or an empty one.
func (m *memory) of(identity string) *cardMemory {
	if c := m.Cards[identity]; c != nil {
		return c
	}
	return &cardMemory{}
}

// head starts a journal's document; the checksum of the rest follows.
const head = "fairlane-agent journal 1 sha256:"

// ErrDamaged means that a journal differs from what was written.
var ErrDamaged = errors.New("damaged: move it away to start anew, which discards the values that were set and those to restore on removal")

func (m *memory) encode() ([]byte, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	out := make([]byte, 0, len(head)+2*len(sum)+len(body)+2)
	out = append(out, head...)
	out = append(out, hex.EncodeToString(sum[:])...)
	out = append(out, '\n')
	out = append(out, body...)
	return append(out, '\n'), nil
}

// decodeMemory decodes a document; an empty document is an empty memory.
func decodeMemory(document []byte) (*memory, error) {
	m := &memory{Cards: map[string]*cardMemory{}, Last: lastSet{Outcome: setNone}}
	if len(document) == 0 {
		return m, nil
	}
	first, body, ok := bytes.Cut(document, []byte("\n"))
	sum, isHead := strings.CutPrefix(string(first), head)
	body = bytes.TrimSuffix(body, []byte("\n"))
	if !ok || !isHead {
		return nil, fmt.Errorf("found %.40q at its start, want %q and a checksum: %w", document, head, ErrDamaged)
	}
	if got := sha256.Sum256(body); hex.EncodeToString(got[:]) != sum {
		return nil, fmt.Errorf("found checksum %x, want %.64q: %w", got, sum, ErrDamaged)
	}
	if err := json.Unmarshal(body, m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if m.Cards == nil {
		m.Cards = map[string]*cardMemory{}
	}
	for id, c := range m.Cards {
		if c == nil || !ordered(c.Desired) || !ordered(c.Original) {
			return nil, fmt.Errorf("card %q: found settings out of order: %w", id, ErrDamaged)
		}
	}
	for id, b := range m.Intent {
		if b == nil || !ordered(b.Params) {
			return nil, fmt.Errorf("transaction on card %q: found settings out of order: %w", id, ErrDamaged)
		}
	}
	return m, nil
}

func ordered(s settings) bool {
	return slices.IsSortedFunc(s, func(a, b nicparam.Setting) int { return compareKeys(a.Key, b.Key) })
}
