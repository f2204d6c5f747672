package kill

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"
)

// writer changes tenants concurrently with the rollouts and records the confirmed changes.
type writer struct {
	c   *client
	rng *rand.Rand
	// promised is the confirmed weight of each tenant whose requests were all answered; 0 means that the tenant was
	// removed.
	promised map[string]int
	// doubtful are tenants with an unanswered request, which may or may not have been executed. They are not changed
	// any more.
	doubtful map[string]bool
	names    []string // of promised
	acked    int
	odd      []string // invalid answers
}

func newWriter(c *client, seed uint64) *writer {
	return &writer{c: c, rng: rand.New(rand.NewPCG(seed, 3)), promised: map[string]int{}, doubtful: map[string]bool{}}
}

// run creates, changes and removes tenants until ctx ends.
func (w *writer) run(ctx context.Context) {
	tick := time.NewTicker(60 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ctx.Err() == nil; i++ {
		w.write(ctx, i)
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

func (w *writer) write(ctx context.Context, i int) {
	name, weight := fmt.Sprintf("w-%d", i), 1+w.rng.IntN(9)
	method, path, want := "POST", "/fabrics/other/tenants", http.StatusCreated
	body := object{"name": name, "weight": weight, "pkey": fmt.Sprintf("0x%04x", 0x9000+i%0x6000)}
	if len(w.names) > 0 && w.rng.IntN(2) == 0 {
		name = w.names[w.rng.IntN(len(w.names))]
		method, path, want = "PUT", "/fabrics/other/tenants/"+name, http.StatusOK
		delete(body, "name")
		delete(body, "pkey")
		if w.rng.IntN(3) == 0 {
			method, want, weight, body = "DELETE", http.StatusNoContent, 0, nil
			w.drop(name)
		}
	}
	status, answer, err := w.c.once(ctx, method, path, "", body)
	switch {
	case err != nil || status >= 500: // executed or not
		w.doubtful[name] = true
		delete(w.promised, name)
		w.drop(name)
	case status == want:
		if _, old := w.promised[name]; !old {
			w.names = append(w.names, name)
		}
		w.promised[name] = weight
		w.acked++
	default:
		w.odd = append(w.odd, fmt.Sprintf("%s %s: %d %s", method, path, status, answer))
	}
}

// drop excludes a tenant from further writes.
func (w *writer) drop(name string) {
	if k := slices.Index(w.names, name); k >= 0 {
		w.names[k] = w.names[len(w.names)-1]
		w.names = w.names[:len(w.names)-1]
	}
}

// check compares the stored tenants with the confirmed changes.
func (w *writer) check(t *testing.T, list func(method, path, key string, body, out any)) {
	t.Helper()
	have := map[string]int{}
	for cursor := ""; ; {
		var page struct {
			Items []struct {
				Name   string
				Weight json.Number
			}
			NextCursor string `json:"next_cursor"`
		}
		list("GET", "/fabrics/other/tenants?limit=1000"+cursor, "", nil, &page)
		for _, x := range page.Items {
			weight, err := x.Weight.Float64()
			if err != nil {
				t.Fatal(err)
			}
			have[x.Name] = int(weight)
		}
		if page.NextCursor == "" {
			break
		}
		cursor = "&cursor=" + page.NextCursor
	}
	for name, weight := range w.promised {
		if have[name] != weight {
			t.Errorf("tenant %s has weight %d, acknowledged was %d (0: none)", name, have[name], weight)
		}
	}
	for name := range have {
		if _, known := w.promised[name]; !known && !w.doubtful[name] {
			t.Errorf("tenant %s exists without an acknowledged request", name)
		}
	}
	for _, odd := range w.odd {
		t.Errorf("refused without a reason: %s", odd)
	}
	if w.acked < 10 {
		t.Errorf("%d writes were acknowledged: the test proves less than it should", w.acked)
	}
	t.Logf("%d acknowledged writes are there, %d were not answered", w.acked, len(w.doubtful))
}
