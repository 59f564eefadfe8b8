// Holds manifests of CloudNativePG to what its webhooks default and validate. Those are internal to the operator: it is compiled as a
// package of the operator's module.
package main

import (
	"context"
	"fmt"
	"os"
	"regexp"

	apiv1 "github.com/cloudnative-pg/cloudnative-pg/api/v1"
	webhookv1 "github.com/cloudnative-pg/cloudnative-pg/internal/webhook/v1"
	"github.com/cloudnative-pg/cloudnative-pg/pkg/utils"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"
)

func admit(kind string, document []byte) (admission.Warnings, error) {
	ctx := context.Background()
	switch kind {
	case "Cluster":
		cluster := &apiv1.Cluster{}
		if err := yaml.UnmarshalStrict(document, cluster); err != nil {
			return nil, err
		}
		if err := (&webhookv1.ClusterCustomDefaulter{}).Default(ctx, cluster); err != nil {
			return nil, err
		}
		return (&webhookv1.ClusterCustomValidator{}).ValidateCreate(ctx, cluster)
	case "Pooler":
		pooler := &apiv1.Pooler{}
		if err := yaml.UnmarshalStrict(document, pooler); err != nil {
			return nil, err
		}
		return (&webhookv1.PoolerCustomValidator{}).ValidateCreate(ctx, pooler)
	case "ScheduledBackup":
		backup := &apiv1.ScheduledBackup{}
		if err := yaml.UnmarshalStrict(document, backup); err != nil {
			return nil, err
		}
		return (&webhookv1.ScheduledBackupCustomValidator{}).ValidateCreate(ctx, backup)
	default:
		return nil, fmt.Errorf("no webhook of %q", kind)
	}
}

func main() {
	// The operator asks Kubernetes at its start, and refuses backups by snapshots where it does not know them.
	utils.SetVolumeSnapshot(true)
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	failed := false
	for _, document := range regexp.MustCompile(`(?m)^---$`).Split(string(text), -1) {
		kind := regexp.MustCompile(`(?m)^kind: (.*)$`).FindStringSubmatch(document)[1]
		warnings, err := admit(kind, []byte(document))
		if err != nil || len(warnings) > 0 {
			failed = true
			fmt.Println(kind, warnings, err)
		}
	}
	if failed {
		os.Exit(1)
	}
}
