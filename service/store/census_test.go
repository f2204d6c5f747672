package store

import (
	"testing"

	"gorm.io/gorm"

	"fairlane/migrations"
)

// TestCensusIsConsistent writes during the count.
func TestCensusIsConsistent(t *testing.T) {
	onBoth(t, func(t *testing.T, d migrations.Dialect) {
		s := openAt(t, fresh(t, d), Options{})
		f := &fixture{t: t, s: s}
		f.fabric("lab")
		wrote := false
		err := s.read.Callback().Query().Before("gorm:query").Register("in the middle", func(q *gorm.DB) {
			if q.Statement.Table == "tenants" && !wrote {
				wrote = true
				f.tenant(red())
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		before, err := s.Census(t.Context())
		if err != nil || !wrote || before.Fabrics != 1 || before.Tenants != 0 {
			t.Errorf("written in the middle: %v; counted %+v, %v: want what was there at the beginning", wrote, before, err)
		}
		if after, err := s.Census(t.Context()); err != nil || after.Tenants != 1 {
			t.Errorf("then it is %+v, %v", after, err)
		}
	})
}
