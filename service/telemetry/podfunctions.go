package telemetry

import (
	"cmp"

	"fairlane/subnet/ident"
)

// ofTenant returns what a tenant's virtual functions on a port counted at both readings; false if the port has no counters of them.
// These are the function that the plan gives the tenant, and on a host that serves pods, those that pods of the tenant have at both
// readings. A function that changes its tenant in between counts for none.
func (w *etherWindow) ofTenant(tenant string, id ident.PortID, a, b *NICReading) (first, last FunctionRead, ok bool) {
	planned := w.function(tenant, id) // policy.NodeFunction: the host chooses, so only its pods show which
	if !b.ServesPods {
		fa, okA := a.Functions[planned]
		fb, okB := b.Functions[planned]
		return fa, fb, okA && okB
	}
	has := func(i int, f FunctionRead) bool { return f.Tenant == tenant || f.Tenant == "" && i == planned }
	for i, fb := range b.Functions {
		fa, known := a.Functions[i]
		if !known {
			continue
		}
		if !ok { // a tenant without a pod here sends nothing, and that is a measured zero
			first, last, ok = fa.zero(), fb.zero(), true
		}
		if has(i, fa) && has(i, fb) {
			shared := sharedNotices(b.Functions, i)
			first.add(fa, shared)
			last.add(fb, shared)
		}
	}
	return first, last, ok
}

// zero returns a reading of the same time without counts.
func (f FunctionRead) zero() FunctionRead {
	return FunctionRead{Tx: Octets{At: f.Tx.At}, Rx: Octets{At: f.Rx.At}, Notices: &Notices{}}
}

// add adds the counts of a function. Notices that the device counts for the whole port make the sum unknown.
func (f *FunctionRead) add(of FunctionRead, shared bool) {
	f.Tx.add(of.Tx)
	f.Rx.add(of.Rx)
	if f.Notices == nil || of.Notices == nil || shared {
		f.Notices = nil
		return
	}
	f.Notices.Marks.add(of.Notices.Marks)
	f.Notices.Sent.add(of.Notices.Sent)
	f.Notices.Handled.add(of.Notices.Handled)
}

// add adds a count that was read in the same request. A count that could not be read makes the sum unknown.
func (o *Octets) add(of Octets) {
	o.N, o.At, o.Err = o.N+of.N, of.At, cmp.Or(o.Err, of.Err)
}
