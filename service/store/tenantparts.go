package store

import (
	"slices"
	"sync"

	"fairlane/tenants"
)

// maxParts bounds the cache of classes and attachments, about 48 bytes each.
const maxParts = 1 << 18

// partsKey identifies the state of a tenant's row when its parts were read. Classes and attachments change only together
// with the version. So the row alone, which every reader reads in its own transaction, decides whether cached parts are
// current. It includes name and times because SQLite reuses the number of a deleted row.
type partsKey struct {
	id, version, created, updated int64
	name                          string
}

func (row *tenantRow) partsKey() partsKey {
	return partsKey{row.ID, row.Version, row.CreatedAtUS, row.UpdatedAtUS, row.Name}
}

// parts are a tenant's classes and attachments.
type parts struct {
	classes     []tenants.Class
	attachments []tenants.Attachment
}

func (p *parts) size() int { return 1 + len(p.classes) + len(p.attachments) }

// keptParts caches the parts of tenants between transactions: reading them row by row is most of the cost of a list. It
// stores only values from committed transactions. It is safe for concurrent use.
type keptParts struct {
	mu   sync.Mutex
	by   map[partsKey]parts
	size int
}

// find gives a tenant the cached parts of its row.
func (k *keptParts) find(row *tenantRow, t *tenants.Tenant) bool {
	k.mu.Lock()
	p, ok := k.by[row.partsKey()]
	k.mu.Unlock()
	if ok {
		t.Classes, t.Attachments = slices.Clone(p.classes), slices.Clone(p.attachments)
	}
	return ok
}

// keep caches what a transaction read, after its commit. When the cache is full, it evicts arbitrary entries.
func (k *keptParts) keep(fresh map[partsKey]parts) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.by == nil {
		k.by = make(map[partsKey]parts)
	}
	for key, p := range fresh {
		if _, had := k.by[key]; had || p.size() > maxParts/4 {
			continue
		}
		for old, o := range k.by {
			if k.size+p.size() <= maxParts {
				break
			}
			delete(k.by, old)
			k.size -= o.size()
		}
		k.by[key] = p
		k.size += p.size()
	}
}

// forget clears the cache, after rows were deleted.
func (k *keptParts) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.by, k.size = nil, 0
}
