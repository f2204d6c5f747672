package site

import (
	"context"

	"fairlane/subnet/mad"
)

// keyed is a transport that adds the fabric's M_Key to requests of subnet management. A device protected by the key
// answers no others (IBTA vol. 1, 14.2.4).
type keyed struct {
	Transport
	key mad.Key
}

var _ mad.Transport = keyed{}

// Exchange keeps a key that a request already has.
func (k keyed) Exchange(ctx context.Context, to mad.Target, request *mad.Packet) (mad.Packet, error) {
	if request.Class().IsSMP() && request.MKey() == 0 {
		request.SetMKey(k.key)
	}
	return k.Transport.Exchange(ctx, to, request)
}

// withMKey makes a transport send an M_Key; key 0 means no key.
func withMKey(t Transport, key mad.Key) Transport {
	if key == 0 {
		return t
	}
	return keyed{t, key}
}
