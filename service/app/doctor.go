package app

import (
	"context"
	"time"

	"fairlane/api"
	"fairlane/service/config"
	"fairlane/service/control"
	"fairlane/service/doctor"
)

var _ = []control.Doctor{ownDoctor{}, demoDoctor{}}

// ownDoctor examines the service from inside, with the configuration in force.
type ownDoctor struct{ s *serving }

// Examine implements control.Doctor.
func (d ownDoctor) Examine(ctx context.Context) []control.DoctorFinding {
	d.s.reloads.Lock()
	c := d.s.config
	d.s.reloads.Unlock()
	return doctor.Examine(ctx, &c, "", doctor.Options{Callback: api.OIDCCallback, Inside: true, Peers: d.s.manager.peers.others()})
}

// others returns what lists the other running managers; nil without announcements.
func (p *seriesPeers) others() func(context.Context) ([]doctor.Peer, error) {
	if p == nil {
		return nil
	}
	return func(ctx context.Context) ([]doctor.Peer, error) {
		list, err := p.list(ctx)
		if err != nil {
			return nil, err
		}
		var out []doctor.Peer
		for _, m := range list {
			if m.Until.After(time.Now()) {
				out = append(out, doctor.Peer{Name: m.Name, URL: m.URL})
			}
		}
		return out, nil
	}
}

// demoDoctor examines the service of a demo, which has no configuration but its database.
type demoDoctor struct{ database string }

// Examine implements control.Doctor.
func (d demoDoctor) Examine(ctx context.Context) []control.DoctorFinding {
	c := config.Default()
	c.Database = d.database
	c.Discovery.Sources = []string{"ibsim:unix:*", "ibsim:udp:*:*", "ethernet:*"} // a demo makes its fabrics itself
	return doctor.Examine(ctx, &c, "", doctor.Options{Callback: api.OIDCCallback, Inside: true})
}
