"""A program under Hydra: writes the square of x into its output folder."""
from pathlib import Path

import hydra

import workloads


@hydra.main(version_base=None, config_path=None)
def main(config):
    folder = Path(hydra.core.hydra_config.HydraConfig.get().runtime.output_dir)
    (folder / "square").write_text(str(workloads.square(config.x)), encoding="utf-8")


if __name__ == "__main__":
    main()
