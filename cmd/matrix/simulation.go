package main

import (
	"github.com/nvidia/aicr-action/internal/health"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/kwok"
)

// operatorStages are the stages that play operators.
func operatorStages() ([]infra.OperatorStage, error) {
	return infra.LoadOperatorStages(kwok.Files, "stages/operators")
}

// healthPolicy is the shipped health policy.
func healthPolicy() (health.Policy, error) {
	data, err := kwok.Files.ReadFile("health.yaml")
	if err != nil {
		return health.Policy{}, err
	}
	return health.Parse("kwok/health.yaml", data)
}
