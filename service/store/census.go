package store

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"fairlane/service/control"
)

// Census counts the rows of the store in one consistent view. It costs a few counting queries.
func (s *Store) Census(ctx context.Context) (n control.Census, err error) {
	err = s.view(ctx, func(tx *gorm.DB) error {
		if err := census(tx, &n); err != nil {
			return err
		}
		return tx.Table("sessions").Where("expires_at_us > ?", micros(time.Now())).Count(&n.Sessions).Error
	})
	if err != nil {
		return control.Census{}, s.fault(fmt.Errorf("count: %w", err), false)
	}
	return n, nil
}

func census(tx *gorm.DB, n *control.Census) (err error) {
	if err = tx.Table("fabrics").Count(&n.Fabrics).Error; err != nil {
		return err
	}
	if err = tx.Table("tenants").Count(&n.Tenants).Error; err != nil {
		return err
	}
	if n.Rollouts, err = countBy(tx.Table("rollouts"), "CASE WHEN refused = 1 THEN 'refused' ELSE state END"); err != nil {
		return err
	}
	running := tx.Table("rollouts").Select("id").Where("state = ?", string(control.RolloutRunning))
	if n.Devices, err = countBy(tx.Table("rollout_devices").Where("rollout_id IN (?)", running), "state"); err != nil {
		return err
	}
	var begun *int64
	if err = tx.Table("rollouts").Where("state = ?", string(control.RolloutRunning)).Select("MIN(created_at_us)").Scan(&begun).Error; err != nil {
		return err
	}
	if begun != nil {
		n.OldestActive = fromMicros(*begun)
	}
	known := func() *gorm.DB { return tx.Table("devices").Where("due_at_us < ?", noTurn) }
	if n.Readings, err = countBy(known(), "reading"); err != nil {
		return err
	}
	if err = known().Where("quarantined_at_us IS NOT NULL").Count(&n.Quarantined).Error; err != nil {
		return err
	}
	n.Jobs = map[string]int64{}
	if tx.Migrator().HasTable("river_job") {
		n.Jobs, err = countBy(tx.Table("river_job").Where("state NOT IN ('completed', 'cancelled')"), "state")
	}
	return err
}

// countBy counts rows by the value of a column.
func countBy(q *gorm.DB, column string) (map[string]int64, error) {
	var rows []struct {
		Value string
		N     int64
	}
	if err := q.Select(column + " AS value, COUNT(*) AS n").Group(column).Scan(&rows).Error; err != nil {
		return nil, err
	}
	out := make(map[string]int64, len(rows))
	for _, r := range rows {
		out[r.Value] = r.N
	}
	return out, nil
}
