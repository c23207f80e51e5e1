"""Score samples: how probable a checkpoint finds each sample's reply; or a critic's values; or features of a model.
Start it with `bash training/score.sh`.

One row of the Parquet file per sample, in the order of the shards:

    id, digest   as in the samples, and of what they say
    logprob      sum over the reply's tokens, natural logarithm
    num_tokens   of the reply
    perplexity   exp(-logprob / num_tokens)
    behavior_logprob   of the reply when it was sampled, where the samples say so; null elsewhere
    token_logprobs   of each of them, with --token_logprobs true, or under another name

or, with --write values, of a checkpoint that ALGORITHM=critic has trained

    value_1, value_2, or instruction_value   of the state: the critic reads the last token of the sample's prompt

or, with --write features

    state_features    [h]: the model's last hidden state, after its norm, at the last token of the prompt
    action_features   [h]: at the last token of the reply; with --after_question true, where the model is about to say
                      whether that action changed the screen (Digi-Q; toolkits/make_representation_data.py)

Training takes the file as one of its COLUMN_FILES: `--token_logprobs true --token_column reference_logprobs`, or
`--algorithm webrl` for the names that one reads. The file appears when it is whole, says which policy it is of, and is
never replaced; a killed command is given again, and goes on.
"""

import dataclasses
import os
import sys

from common import cli
from data.checkpoint_folder import find_weights
from data.shards.columns import is_written
from models.registry import family
from training.config import parse_with_environment
from training.critics.score_config import ScoreConfig
from training.launch import torchrun
from training.launch.devices import plan_ranks
from training.launch.foreign_tars import shards_to_read
from training.launch.launch import check_kernels, check_sizes
from training.launch.survey import Reading, check_samples
from training.modules.language.form import check_layout


def main(config: ScoreConfig) -> int:
    """Check, then score under torchrun with this process's own flags and environment."""
    if config.algorithm and not config.token_columns:
        print(f"{config.algorithm} reads no log-probabilities but the samples' own; nothing to score")
        return 0
    config = dataclasses.replace(config, dataset_path=shards_to_read(config.dataset_path))
    training = config.as_training()
    ranks = plan_ranks(training.layout, replicas=config.dp, per_host=config.host_gpu_num)
    _, hf_files = find_weights(config.checkpoint)
    hf = family(hf_files).read_config(hf_files)
    check_layout(hf, training.layout)
    check_kernels(training, hf)
    batch = config.batch_size * ranks.replicas
    check_sizes(dataclasses.replace(training, global_batch_size=batch), ranks.per_host)
    reading = Reading(hf_files, config.seq_len, config.image_num, config.reads)
    check_samples(config.dataset_path, reading, config.skip_bad_samples).write(config.left_out_path)
    if is_written(config.output, config.made_of()):
        return 0
    if ranks.note:
        print(ranks.note)
    read = ("--dataset_path", str(config.dataset_path))
    return torchrun.start("training.critics.score", ranks.per_host, torchrun.Hosts(), read)


def rank_main(config: ScoreConfig) -> None:
    """What each rank does; heavy imports wait until here."""
    from training.modules import kernels

    kernels.prepare(config.te)
    from training.critics.scoring import score

    score(config)


if __name__ == "__main__":
    if "LOCAL_RANK" in os.environ:
        torchrun.run_rank(rank_main, parse_with_environment(ScoreConfig, "score.sh"))
    else:
        sys.exit(cli.guarded(lambda kind: main(parse_with_environment(kind, "score.sh")), ScoreConfig))
